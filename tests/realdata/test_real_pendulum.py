"""A measured pendulum, angle only."""

import pytest

import tinyude as tu


def test_real_pendulum_free_runs_over_held_out_swings(folder, example) -> None:
    first, second = example("real_pendulum").errors(tu.datasets.multiarm_single(folder), share=0.0, seed=0)
    assert first <= 0.02 and second <= 0.06  # gravity and viscous friction alone: 0.042 and 0.142


def test_real_pendulum_finds_gravity_and_dry_friction(folder, example) -> None:
    record = tu.datasets.multiarm_single(folder)
    ude = example("real_pendulum").fit(list(record.runs), hidden=())
    ((_, strength, low, high),) = ude.diagnostics_["parameters"]
    p = record.parameters
    assert low < strength < high
    assert strength == pytest.approx(p["m1"] * p["a1"] * p["g"] / (p["m1"] * p["a1"] ** 2 + p["I1"]), rel=0.01)
    assert any("tanh" in entry["term"] and entry["coefficient"] < 0.0 for entry in ude.diagnostics_["terms"])
