"""Plants with a known truth: what the learner is told, what is true, and the noisy stream it gets."""

from tinyude.systems.double_pendulum import double_pendulum
from tinyude.systems.pendulum import pendulum
from tinyude.systems.system import System

__all__ = ["System", "double_pendulum", "pendulum"]
