"""What the learner is compared with: training through an ODE solver, and parameters alone by simulation error."""

from tinyude.baselines.grey_box import GreyBox
from tinyude.baselines.multiple_shooting import MultipleShooting

__all__ = ["GreyBox", "MultipleShooting"]
