"""What the learner is compared with: training through an ODE solver."""

from tinyude.baselines.multiple_shooting import MultipleShooting

__all__ = ["MultipleShooting"]
