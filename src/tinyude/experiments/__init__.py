"""Every table and figure of the paper, and further studies: one module each, named as in NAMES.

`runner` computes and caches the units of an experiment, `experiment` has the common definitions, `documents` writes
figures into the docs.
"""

from importlib import import_module
from typing import cast

from tinyude.errors import TinyUDEError
from tinyude.experiments.experiment import Experiment

NAMES = (
    "headline", "head-to-head", "double-pendulum", "identification", "rollout", "ablation", "jet-components",
    "second-order", "resources", "shooting", "sampling", "gradients", "adjoint-gradients", "estimator", "step-size",
    "taxonomy", "per-seed", "failure", "robustness", "device", "benchmarks", "zoo", "verdicts", "mechanisms",
    "coverage", "choice", "withstand",
)  # fmt: skip


def load(name: str) -> Experiment:
    """The experiment with that name."""
    if name not in NAMES:
        raise TinyUDEError(f"There is no experiment {name!r}; choose all or some of {', '.join(NAMES)}.")
    return cast(Experiment, import_module(f"{__name__}.{name.replace('-', '_')}"))
