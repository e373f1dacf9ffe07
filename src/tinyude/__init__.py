"""TinyUDE: learn what your model leaves out, from noisy sensor streams, without an ODE solver."""

from tinyude import datasets, systems
from tinyude.baselines import MultipleShooting
from tinyude.errors import TinyUDEError
from tinyude.estimator import UDE
from tinyude.model_file import load
from tinyude.physics import Parameter, Physics

__version__ = "0.1.0"
__all__ = [
    "UDE",
    "MultipleShooting",
    "Parameter",
    "Physics",
    "TinyUDEError",
    "__version__",
    "datasets",
    "load",
    "systems",
]
