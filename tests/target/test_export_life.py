"""An export's whole life on an emulated Cortex-M4F: costs, sampling in true time, power cuts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude import native
from tinyude.experiments.board.board_life import PLANTS, Paced, changing_life, largest_difference, paced_chip, run_paced
from tinyude.export import Chip, chip_of_model
from tinyude.export.footprint import footprint
from tinyude.export.life import build_life, count_life, missing_for_life, resume_life, saved_images
from tinyude.export.wire import LONGEST_SLICE
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run

pytestmark = pytest.mark.skipif(
    not native.available() or bool(missing_for_life()), reason=f"needs {', '.join(missing_for_life())}"
)
Record = Callable[[str, object], None]
KILOBYTE = 1024


@pytest.mark.parametrize("network", [True, False], ids=["network", "no network"])
def test_push_and_slice_are_bounded_over_a_whole_life(network: bool, tmp_path: Path, record_property: Record) -> None:
    """Calibration, a full reservoir, a judged network, a change, a recalibration, observer, telemetry and saves."""
    chip, rows = changing_life()
    chip = chip if network else chip.without_network()
    life = count_life(build_life(chip, tmp_path), rows, save_every=8000)
    found = life.figures
    assert (found["samples"], found["lost"], found["saves"]) == (len(rows), 0, 2)
    assert (found["changes"], found["recalibrations"], found["reservoir"]) == (1, 1, chip.config.reservoir)
    push, piece = life.cost("push"), life.cost("slice")
    assert push.longest <= 2_000
    assert piece.longest <= LONGEST_SLICE
    record_property(
        "figure",
        f"emulated M4F, a whole life of an export, {'with' if network else 'without'} a network: "
        f"push {push.mean:.0f} instructions on average, {push.longest:,} at most; "
        f"a slice of work {piece.mean:.0f}, {piece.longest:,} at most",
    )


def test_slice_is_bounded_with_a_kernel_network_of_sixty_units(tmp_path: Path) -> None:
    """Its curve is evaluated twice at every node of a window: as known part, and as the column of its gain."""
    rng, period = np.random.default_rng(0), 0.01
    t = period * np.arange(6000)
    u = rng.uniform(-3.0, 3.0, 100)[(t / 0.6).astype(int)][:, None]
    rate = "5*u - 0.7*w - 1.5*tanh(w)*exp(-0.06*w**2)"
    x = free_run(known_dynamics(tu.Physics(["w"], [rate], ["u"])), np.zeros(1), t, np.array([1e6]), u)
    y = x + 0.05 * rng.standard_normal(x.shape)
    ude = tu.UDE(tu.Physics(["w"], ["5*u"], ["u"]), library=None, network="kernel", refine=False)
    chip = chip_of_model(ude.fit(y, t=period, u=u))
    assert chip.kernel is not None and chip.kernel.units == 60
    life = count_life(build_life(chip, tmp_path), np.hstack([y, u])[:2000])
    assert 10_000 < life.cost("slice").longest <= LONGEST_SLICE


def test_slice_is_bounded_with_a_kernel_network_of_several_inputs(tmp_path: Path) -> None:
    """Parts of its curve are columns, too: with five inputs, eight nodes took 126,812 instructions."""
    rng, period, states = np.random.default_rng(0), 0.004, ["a", "w", "b", "v"]
    t = period * np.arange(15_000)
    u = rng.uniform(-2.0, 2.0, 130)[(t / 0.5).astype(int)][:, None]
    known = ["w", "8*u - 40*(a - b) - 0.5*w", "v", "60*(a - b)"]
    truth = [*known[:3], f"{known[3]} - tanh(3*v)*(0.6 + 0.7*exp(-2*v**2)) - 0.4*v"]
    x = free_run(known_dynamics(tu.Physics(states, truth, ["u"])), np.zeros(4), t, np.full(4, 1e6), u)
    y = x + [0.001, 0.01, 0.001, 0.01] * rng.standard_normal(x.shape)
    ude = tu.UDE(tu.Physics(states, known, ["u"]), library=None, network="kernel", refine=False)
    chip = chip_of_model(ude.fit(y, t=period, u=u))
    assert chip.kernel is not None and len(chip.parameters) > 2
    life = count_life(build_life(chip, tmp_path), np.hstack([y, u])[:2000])
    assert life.cost("slice").longest <= LONGEST_SLICE


@pytest.fixture(scope="module")
def motor() -> Chip:
    return paced_chip(PLANTS[0]).without_network()


@pytest.fixture(scope="module")
def image(motor: Chip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_life(motor, tmp_path_factory.mktemp("motor"))


def test_learner_without_network_takes_less_than_30_kilobytes_of_flash(motor: Chip, record_property: Record) -> None:
    """Of a motor by its angle alone, and of a pendulum whose angle and rate are fused."""
    _, samples = tu.systems.pendulum().stream(noise=0.01, seed=0, seconds=20.0)
    ude = tu.UDE(tu.systems.pendulum().physics, library=["omega", "sin(theta)"], hidden=(4,), updates=50)
    pendulum = chip_of_model(ude.fit(samples[::5], t=0.005)).without_network()
    flash = [footprint(chip, "cortex-m4").flash_bytes for chip in (motor, pendulum)]
    assert max(flash) < 30 * KILOBYTE
    record_property("figure", f"export without a network on an M4: {flash[0]:,} and {flash[1]:,} bytes of flash")


@pytest.mark.parametrize(("plant", "samples"), [(PLANTS[0], 3000), (PLANTS[1], 600)], ids=["500 Hz", "1 Hz"])
def test_slow_board_samples_on_time_while_it_learns(plant: Paced, samples: int, tmp_path: Path) -> None:
    """At 15.6 MIPS: the coefficients of ideal sampling, and not those that it started from."""
    chip = paced_chip(plant).without_network()
    life, ideal = run_paced(plant, chip, build_life(chip, tmp_path), samples, shift=6)
    assert (life.figures["samples"], life.figures["lost"]) == (samples, 0)
    assert chip.start is not None
    assert not np.array_equal(ideal["coefficients"], chip.start.coefficients.astype(np.float32))
    assert largest_difference(life, ideal) < 0.1


def test_power_cut_at_any_write_leaves_a_whole_state(motor: Chip, image: Path) -> None:
    """The board restarts on the newest whole state, at most one save old, with the same bits."""
    rows = PLANTS[0].record(400, seed=3)[0][::16].astype(np.float32)
    whole = count_life(image, rows, save_every=100)
    slot = whole.figures["save_bytes"]
    rng = np.random.default_rng(4)
    for cut in (1, *rng.integers(slot, 3 * slot, 3).tolist(), 2 * slot - 1):
        torn = count_life(image, rows, save_every=100, cut_after=cut)
        saved = saved_images(torn.flash)
        assert torn.figures["saves"] == cut // slot
        assert max(saved, default=0) - cut // slot in (0, 1)  # whole before the padding of its last piece
        again = resume_life(image, torn.flash)
        assert again.figures["loaded"] == (len(saved) > 0)
        if saved:
            newest = max(saved)
            assert saved_images(again.flash)[newest + 1] == saved[newest]
