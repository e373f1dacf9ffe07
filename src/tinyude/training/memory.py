"""Memory that a learner needs, on this computer and on a board."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyude import native
from tinyude.model.model import Model
from tinyude.reference.config import Config
from tinyude.training.presets import chip_config

FEWEST_TERMS = 4  # least number offered to a board, even if fewer were kept here


def memory_figures(model: Model, config: Config) -> dict[str, Any]:
    """Arena in float32, by its parts; and that of the same learner on a microcontroller with the kept terms.

    0 without the compiled core, which knows the sizes.
    """
    if not native.available():
        return {"static_bytes": 0, "memory": {}, "chip_bytes": 0}
    memory = native.memory(config, "float32")
    kept = int(np.sum(model.errors.any(axis=0)))
    chip = native.memory(chip_config(config, max(kept, FEWEST_TERMS)), "float32")
    return {"static_bytes": int(memory["total"]), "memory": memory, "chip_bytes": int(chip["total"])}
