"""A measured pendulum, angle only; skipped where the record is not at hand."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest

from tinyude import native

ROOT = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("TINYUDE_DATA", ROOT.parent / "shared" / "data"))
RECORD = FOLDER / "multiarm_pendulum" / "SinglePendulumDataForParameterEstimation.mat"

pytestmark = [
    pytest.mark.skipif(not RECORD.exists(), reason=f"no measured record at {RECORD}; set TINYUDE_DATA to its folder"),
    pytest.mark.skipif(not native.available(), reason="needs the compiled core"),
]


def _example():
    spec = importlib.util.spec_from_file_location("real_pendulum", ROOT / "examples" / "real_pendulum.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_real_pendulum_free_runs_over_held_out_swings() -> None:
    example = _example()
    training, held_out = example.swings(RECORD)
    errors = np.array([[example.free_run(example.fit(training, seed), a)[1] for a in held_out] for seed in range(3)])
    first, second = errors.mean(axis=0)
    assert first <= 0.02 and second <= 0.06  # gravity and viscous friction alone: 0.042 and 0.142


def test_real_pendulum_finds_gravity_and_dry_friction() -> None:
    example = _example()
    ude = example.fit(example.swings(RECORD)[0], hidden=())
    ((_, strength, low, high),) = ude.diagnostics_["parameters"]
    assert low < strength < high and strength == pytest.approx(64.1, abs=0.3)
    assert any("tanh" in entry["term"] and entry["coefficient"] < 0.0 for entry in ude.diagnostics_["terms"])
