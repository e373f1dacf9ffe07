"""Plants with a known truth: the physics given to the learner, the true field, and the noisy stream.

`system` is the common form, `signals` the sensors and their faults. Examples, tests and experiments take their records
from here; nothing of the truth reaches a fit.
"""

from tinyude.systems.double_pendulum import double_pendulum
from tinyude.systems.pendulum import pendulum
from tinyude.systems.system import System

__all__ = ["System", "double_pendulum", "pendulum"]
