"""Every table and figure of the paper (`paper`), and further studies (`studies`, `board`, `costs`).

Common to all: `experiment` has the definitions, `fits` one fit as plain data, `runner` computes and caches units,
`drawing` and `page` show them, `documents` writes figures into the docs. `demo` is the demonstration.
"""

from importlib import import_module
from typing import cast

from tinyude.errors import TinyUDEError
from tinyude.experiments.experiment import Experiment

FOLDERS = {
    "paper": (
        "headline", "head-to-head", "double-pendulum", "identification", "rollout", "ablation", "jet-components",
        "second-order", "resources", "shooting", "sampling", "gradients", "adjoint-gradients", "estimator", "step-size",
        "taxonomy", "per-seed", "failure",
    ),
    "board": ("device",),
    "studies": (
        "robustness", "benchmarks", "zoo", "verdicts", "mechanisms", "coverage", "choice", "withstand",
    ),
}  # fmt: skip
NAMES = tuple(name for names in FOLDERS.values() for name in names)


def load(name: str) -> Experiment:
    """The experiment with that name."""
    folder = next((folder for folder, names in FOLDERS.items() if name in names), None)
    if folder is None:
        raise TinyUDEError(f"There is no experiment {name!r}; choose all or some of {', '.join(NAMES)}.")
    return cast(Experiment, import_module(f"{__name__}.{folder}.{name.replace('-', '_')}"))
