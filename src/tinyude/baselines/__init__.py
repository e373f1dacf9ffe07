"""What the learner is compared with: training through an ODE solver, and parameters alone by simulation error.

`multiple_shooting` with its own `adjoint` gradients, `diffrax_shooting` with those of JAX, `grey_box` without a
network. All see the same noisy samples.
"""

from tinyude.baselines.grey_box import GreyBox
from tinyude.baselines.multiple_shooting import MultipleShooting

__all__ = ["GreyBox", "MultipleShooting"]
