"""TinyUDE: learn what your model leaves out, from noisy sensor streams, without an ODE solver.

Public names are imported on first use, so that `import tinyude` is cheap. `UDE` is in estimator/ude.py, every
other name in the folder of its subject; ARCHITECTURE.md describes the layout.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tinyude.errors import TinyUDEError, TinyUDEWarning

if TYPE_CHECKING:
    from tinyude import baselines, fleet, systems
    from tinyude.baselines import MultipleShooting
    from tinyude.data import datasets
    from tinyude.estimator.ude import UDE, load
    from tinyude.physics import Parameter, Physics

__version__ = "0.1.0"
__all__ = [
    "UDE",
    "MultipleShooting",
    "Parameter",
    "Physics",
    "TinyUDEError",
    "TinyUDEWarning",
    "__version__",
    "baselines",
    "datasets",
    "fleet",
    "load",
    "systems",
]

_LOCATION = {  # public name: where it is defined; a module by its own name
    "UDE": "tinyude.estimator.ude",
    "MultipleShooting": "tinyude.baselines",
    "Parameter": "tinyude.physics",
    "Physics": "tinyude.physics",
    "load": "tinyude.estimator.ude",
    "datasets": "tinyude.data.datasets",
    "baselines": "tinyude.baselines",
    "fleet": "tinyude.fleet",
    "systems": "tinyude.systems",
}


def __getattr__(name: str) -> Any:
    if name not in _LOCATION:
        raise AttributeError(f"module 'tinyude' has no attribute {name!r}")
    module = import_module(_LOCATION[name])
    value = module if _LOCATION[name].endswith(f".{name}") else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
