from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from tinyude.reference import learner as learner_module
from tinyude.reference.config import Config
from tinyude.reference.learner import learner_gap, learner_push, learner_rewind
from tinyude.reference.network.holdout import holdout_judge
from tinyude.reference.network.loss import loss_gather
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import reservoir_count, reservoir_init
from tinyude.reference.signal.gates import STUCK_RUN
from tinyude.reference.signal.noise import noise_sigma
from tinyude.reference.state import Learner, learner_init
from tinyude.reference.training import learner_finish, learner_step
from tinyude.reference.view import learner_residual
from tinyude.systems import pendulum as make_pendulum
from tinyude.systems.system import System
from tinyude.training.known import known_functions

PERIOD = 0.005
TERMS = [sp.Integer(1), sp.Symbol("omega", real=True)]
CONFIG = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, on=(1,), sees=(0, 1), hidden=(4,),
    library_terms=len(TERMS), stride=2, max_half=40, calibration=800, reservoir=500, holdout=100, batch=16,
    updates=120, train_every=20, block=25,
)  # fmt: skip
KICKS = np.array([800, 1600])  # first samples after the kicks of the short stream

Stream = tuple[float, np.ndarray]


def make(system: System, config: Config = CONFIG, terms: list[sp.Expr] = TERMS) -> Learner:
    return learner_init(config, known_functions(system.physics, terms, config.on))


def feed(learner: Learner, samples: np.ndarray) -> Learner:
    for row in samples:
        learner_push(learner, row)
    return learner


def balanced(learner: Learner) -> bool:
    return learner.counters.windows == learner.counters.accepted + sum(learner.counters.rejected.values())


@pytest.fixture(scope="module")
def trained(pendulum: System, short_stream: Stream) -> Learner:
    """A learner that has seen the whole short stream; treat it as read-only."""
    return feed(make(pendulum), short_stream[1])


def test_learner_push_calibrates_then_learns(trained: Learner) -> None:
    assert trained.setup is not None
    assert trained.counters.samples == 2400 and trained.tick == 2400 - 4  # the repair's delay
    assert trained.counters.windows == (2396 - 800) // CONFIG.stride
    assert trained.counters.accepted > 0.8 * trained.counters.windows and balanced(trained)
    assert trained.counters.updates == (2396 - 800) // CONFIG.train_every
    assert trained.library.coefficients == pytest.approx([0.0, -0.4], abs=0.02)


def test_learner_push_never_learns_across_a_kick(
    pendulum: System, short_stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    newest: list[int] = []
    add: Callable[..., str | None] = learner_module.targets_add

    def spy(learner: Learner, *arguments: object) -> str | None:
        newest.append(learner.tick - 1)
        return add(learner, *arguments)

    monkeypatch.setattr(learner_module, "targets_add", spy)
    for config, terms in ((CONFIG, TERMS), (paper(), [])):
        newest.clear()
        learner = feed(make(pendulum, replace(config, calibration=400), terms), short_stream[1])
        assert learner.setup and len(newest) > 500
        last = np.array(newest)[:, None]
        assert not np.any((last - 2 * learner.setup.window.reach < KICKS) & (last >= KICKS))


def paper() -> Config:
    return replace(
        CONFIG, dense=False, repair=False, on=(0, 1), library_terms=0, holdout=0, physics_nodes=1, network_nodes=1,
        second_order=0.1, max_half=50, spacing=4, follow=False,
    )  # fmt: skip


def spoilt(samples: np.ndarray, where: slice, value: float | None = None, channel: int | slice = 1) -> np.ndarray:
    """The samples with a stretch replaced by a value, or by the first of the stretch."""
    samples = samples.copy()
    samples[where, channel] = samples[where.start, channel] if value is None else value
    return samples


@pytest.mark.parametrize(
    ("reason", "value"), [("stuck", None), ("nonfinite", np.nan), ("nonfinite", np.inf), ("nonfinite", 1e300)]
)
def test_learner_push_counts_bad_stretches_by_reason(
    pendulum: System, short_stream: Stream, reason: str, value: float | None
) -> None:
    stretch = slice(1100, 1160)
    learner = feed(make(pendulum), spoilt(short_stream[1], stretch, value)[:1500])
    assert learner.counters.rejected[reason] > (60 - STUCK_RUN) / CONFIG.stride and balanced(learner)
    assert np.all(np.isfinite(learner.reservoir.entries)) and np.all(np.isfinite(learner.params))
    assert learner.library.coefficients[1] == pytest.approx(-0.4, abs=0.05)


def test_learner_push_catches_a_saturated_sensor(pendulum: System, short_stream: Stream) -> None:
    samples = short_stream[1].copy()
    samples[900:, 1] = np.clip(samples[900:, 1], -2.0, 2.0)
    learner = feed(make(pendulum), samples)
    flat = np.convolve(np.diff(samples[900:, 1]) == 0.0, np.ones(STUCK_RUN), "valid") == STUCK_RUN
    assert learner.counters.rejected["stuck"] > flat.sum() / CONFIG.stride > 20 and balanced(learner)
    assert learner.library.coefficients[1] == pytest.approx(-0.4, abs=0.03)


def test_learner_push_mends_lone_faults_and_counts_them(pendulum: System, short_stream: Stream) -> None:
    samples = short_stream[1][:1500].copy()
    clean = feed(make(pendulum), samples)
    samples[1000:1300:60, 0] = np.nan
    samples[1330:1480:50, 1] += 3.0
    mended = feed(make(pendulum), samples)
    assert mended.counters.filled == 5
    assert mended.counters.replaced == clean.counters.replaced + 3
    assert mended.counters.accepted >= clean.counters.accepted - 5
    assert mended.library.coefficients[1] == pytest.approx(clean.library.coefficients[1], abs=0.01)


def test_learner_gap_keeps_windows_from_straddling(trained: Learner, pendulum: System, short_stream: Stream) -> None:
    learner = feed(make(pendulum), short_stream[1][:1200])
    assert learner.setup
    before = learner.counters.rejected["gap"]
    learner_gap(learner)
    feed(learner, short_stream[1][1700:2000])
    skipped = learner.counters.rejected["gap"] - before
    assert skipped == pytest.approx(2 * learner.setup.window.reach / CONFIG.stride, abs=2)
    assert learner.counters.rejected["misfit"] + learner.counters.rejected["jump"] <= 45  # the kick at 800 alone
    assert balanced(learner)


def test_learner_rewind_keeps_what_calibration_found(pendulum: System, short_stream: Stream) -> None:
    learner = feed(make(pendulum), short_stream[1][:900])
    setup = learner.setup
    learner_rewind(learner)
    assert learner.setup is setup and setup is not None
    assert learner.counters.samples == learner.tick == learner.ring.pushed == 0
    assert not any(learner.counters.rejected.values())


def test_learner_is_deterministic_and_seeds_differ(pendulum: System, short_stream: Stream) -> None:
    first, again, other = (
        feed(make(pendulum, replace(CONFIG, seed=seed)), short_stream[1][:1300]) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first.params, again.params)
    np.testing.assert_array_equal(first.reservoir.entries, again.reservoir.entries)
    assert not np.array_equal(first.params, other.params)
    np.testing.assert_array_equal(first.library.coefficients, other.library.coefficients)


def test_learner_step_waits_for_a_batch_and_counts(pendulum: System) -> None:
    learner = make(pendulum)
    start = learner.params.copy()
    learner_step(learner)
    assert learner.counters.updates == 1
    np.testing.assert_array_equal(learner.params, start)


def test_learner_step_undoes_an_update_that_is_not_finite(pendulum: System, short_stream: Stream) -> None:
    learner = feed(make(pendulum), short_stream[1][:1300])
    learner.reservoir.entries[: reservoir_count(learner.reservoir)] = np.nan
    average = learner.average.copy()
    learner_step(learner)
    assert learner.counters.rolled_back == 1
    np.testing.assert_array_equal(learner.params, average)
    np.testing.assert_array_equal(learner.average, average)
    assert not learner.adam.first.any()


def test_learner_step_lowers_the_loss_of_a_network_alone(pendulum: System, short_stream: Stream) -> None:
    alone = replace(CONFIG, library_terms=0, holdout=0, updates=400, train_every=0)
    learner = feed(make(pendulum, alone, []), short_stream[1][:1500])
    learner_finish(learner)
    assert len(learner.losses) == 400
    assert np.mean(learner.losses[-50:]) < 0.2 * np.mean(learner.losses[:20])


def test_learner_second_order_enters_only_when_the_noise_allows(pendulum: System, short_stream: Stream) -> None:
    noisy = feed(make(pendulum, paper(), []), short_stream[1][:1000])
    forced = feed(make(pendulum, replace(paper(), snr_gate=0.0), []), short_stream[1][:1000])
    assert noisy.setup and forced.setup
    assert noisy.setup.second_order == 0.0 and forced.setup.second_order == 0.1
    assert not np.array_equal(noisy.params, forced.params)


def test_learner_finish_switches_the_network_off_when_the_rest_is_noise(pendulum: System, short_stream: Stream) -> None:
    learner = feed(make(pendulum), short_stream[1])
    learner_finish(learner)
    assert learner.counters.updates == CONFIG.updates
    assert not learner.network_on.any()
    x = pendulum.grid()
    found = learner_residual(learner, x, np.empty((len(x), 0)))
    np.testing.assert_allclose(found[:, 0], learner.library.coefficients @ [np.ones(len(x)), x[:, 1]])


def test_learner_finish_keeps_the_network_if_it_helps(pendulum: System, short_stream: Stream) -> None:
    """A library that holds only a constant leaves the damping to the network."""
    learner = feed(make(pendulum, replace(CONFIG, library_terms=1, updates=600), TERMS[:1]), short_stream[1])
    learner_finish(learner)
    assert learner.network_on.all()
    x = short_stream[1][::20]
    found = learner_residual(learner, x, np.empty((len(x), 0)))[:, 0]
    assert np.sqrt(np.mean((found + 0.4 * x[:, 1]) ** 2)) < 0.3 * np.sqrt(np.mean((0.4 * x[:, 1]) ** 2))


@pytest.mark.parametrize("useful", [True, False])
def test_holdout_judge_keeps_the_network_only_if_it_helps(trained: Learner, useful: bool) -> None:
    """Held-back windows whose rest is what the network says, or noise of the same size."""
    learner = replace(
        trained, network_on=np.array([not useful]), holdout=reservoir_init(240, trained.holdout.entries.shape[1])
    )
    rng = np.random.default_rng(0)
    entries = learner.holdout.entries
    entries[:, :-2] = rng.standard_normal(entries[:, :-2].shape)
    nodes, _ = loss_gather(learner.config, entries)
    assert learner.network_nodes
    answer = mlp_forward(learner.average, CONFIG.sizes, nodes.reshape(-1, 2))[-1].reshape(240, -1)
    answer = answer @ learner.network_nodes.weights[:, 1]
    entries[:, -2] = answer if useful else answer.std() * rng.standard_normal(240)
    entries[:, -2] += answer.std() * rng.standard_normal(240)
    entries[:, -1] = np.repeat(np.arange(12), 20)
    learner.holdout.seen = 240
    holdout_judge(learner)
    assert learner.network_on.tolist() == [useful]


def test_learner_finish_before_calibration_does_nothing(pendulum: System) -> None:
    learner = make(pendulum)
    learner_finish(learner)
    assert learner.counters.updates == 0
    np.testing.assert_array_equal(learner_residual(learner, np.ones((3, 2)), np.empty((3, 0))), np.zeros((3, 1)))


def test_learner_follows_a_change_of_the_dynamics() -> None:
    changing = make_pendulum(damping_change=(12.0, 1.6))
    _, samples = changing.stream(0.01, seed=1, seconds=22.0)
    config = replace(CONFIG, hidden=(), holdout=0, block=40, calibration=400)
    learner = make(changing, config)
    feed(learner, samples[:12_000:5])
    assert not learner.counters.changes
    feed(learner, samples[12_000::5])
    learner_finish(learner)
    assert len(learner.counters.changes) == 1
    assert 12.0 < learner.counters.changes[0] * PERIOD < 20.0
    assert learner.library.coefficients[1] == pytest.approx(-1.6, rel=0.1)
    ignoring = feed(make(changing, replace(config, follow=False)), samples[::5])
    assert not ignoring.counters.changes


def worse_sensor(system: System) -> np.ndarray:
    """A stream whose noise grows eightfold after twelve seconds."""
    _, samples = system.stream(0.01, seed=0, seconds=60.0)
    samples = samples[::5].copy()
    noise = 0.08 * np.sqrt(np.mean(samples**2, axis=0)) * np.random.default_rng(0).standard_normal(samples.shape)
    samples[2400:] += noise[2400:]
    return samples


def test_learner_recalibrates_when_the_stream_changes_its_character(pendulum: System) -> None:
    samples = worse_sensor(pendulum)
    learner = feed(make(pendulum, replace(CONFIG, hidden=(), holdout=0)), samples[:2400])
    assert learner.setup is not None
    before, scales, quiet = learner.counters.accepted, learner.setup.scales.x.copy(), noise_sigma(learner.noise)
    feed(learner, samples[2400:])
    assert learner.counters.recalibrations == 1
    assert learner.counters.accepted > before + 0.5 * (len(samples) - 2400) / CONFIG.stride - 1000
    np.testing.assert_array_equal(learner.setup.scales.x, scales)
    np.testing.assert_allclose(noise_sigma(learner.noise), np.sqrt(65.0) * quiet, rtol=0.1)


def test_learner_keeps_the_window_of_a_steady_stream(trained: Learner) -> None:
    assert trained.counters.recalibrations == 0 and trained.calibration.watched > 0
