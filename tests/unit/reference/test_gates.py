import numpy as np
import pytest

from tinyude.reference.paper.median_gate import median_gate_accept, median_gate_init
from tinyude.reference.signal.gates import gates_accept, gates_limits
from tinyude.reference.signal.repair import repair_init, repair_push
from tinyude.reference.signal.window import window_fit, window_make
from tinyude.systems.system import System

PERIOD = 1e-3
FINE = np.full(2, np.inf)  # the step of a sensor that shows none
STRIDE = 5


def stream_with_sigma(pendulum: System, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, the noise's true standard deviation, and the first sample after each kick."""
    _, samples = pendulum.stream(level, seed=3)
    _, clean = pendulum.clean(seed=3)
    jumps = np.round(pendulum.jump_times() * pendulum.rate).astype(int)
    assert len(jumps) == 14
    return samples, level * np.sqrt(np.mean(clean**2, axis=0)), jumps


def repaired(samples: np.ndarray, sigma: np.ndarray) -> np.ndarray:
    repair = repair_init(samples.shape[1])
    rows = [repair_push(repair, row, sigma) for row in samples]
    return np.array([row[0] for row in rows if row is not None])


@pytest.mark.parametrize("half", [115, 231])
@pytest.mark.parametrize("level", [0.01, 0.05])
def test_gates_accept_accepts_no_window_across_a_kick(pendulum: System, level: float, half: int) -> None:
    """Also with only one sample before or after the kick, and after the outlier repair has had its hands on it."""
    samples, sigma, jumps = stream_with_sigma(pendulum, level)
    window = window_make(half, 1, 4, PERIOD)
    for jump in jumps:
        first = jump - 2 * half - 20
        near = repaired(samples[first : jump + 2 * half + 20], sigma)
        for newest in {jump, *range(jump, jump + 2 * half, STRIDE), jump + 2 * half - 1}:
            inside = near[newest - 2 * half - first : newest + 1 - first]
            _, misfit, segments = window_fit(window, inside)
            assert gates_accept(window, misfit, segments, sigma, FINE) is not None


@pytest.mark.parametrize("half", [5, 60, 250])
def test_gates_accept_passes_nearly_all_pure_noise(half: int) -> None:
    window = window_make(half, 1, 4, PERIOD)
    sigma = np.array([0.2, 3.0])
    rng = np.random.default_rng(half)
    rejected = 0
    for _ in range(500):
        _, misfit, segments = window_fit(window, sigma * rng.standard_normal((2 * half + 1, 2)))
        rejected += gates_accept(window, misfit, segments, sigma, FINE) is not None
    assert rejected <= 5


def test_gates_accept_sees_a_kink_that_the_total_misfit_does_not() -> None:
    """An impulse seen through the angle alone is only a kink, spread over hundreds of degrees of freedom."""
    window = window_make(150, 1, 4, PERIOD)
    kink = 2.0 * np.maximum(np.arange(-150, 151) * PERIOD, 0.0)[:, None]
    sigma = np.array([0.01])
    rng = np.random.default_rng(0)
    reasons = []
    for _ in range(100):
        _, misfit, segments = window_fit(window, kink + sigma * rng.standard_normal(kink.shape))
        reasons.append(gates_accept(window, misfit, segments, sigma, FINE[:1]))
    assert reasons.count("misfit") < 40 and reasons.count(None) < 30


def test_gates_accept_names_misfit_for_what_is_far_too_large() -> None:
    window = window_make(60, 1, 4, PERIOD)
    sigma = np.array([0.01])
    samples = 3.0 * sigma * np.random.default_rng(0).standard_normal((121, 1))
    _, misfit, segments = window_fit(window, samples)
    assert gates_accept(window, misfit, segments, sigma, FINE[:1]) == "misfit"


def test_gates_accept_lets_a_coarse_encoder_pass() -> None:
    """Rounding errors of a slow encoder hardly change from sample to sample; that is no jump."""
    window = window_make(60, 1, 4, PERIOD)
    step = 0.01
    t = np.arange(4000) * PERIOD
    codes = step * np.round(np.sin(0.6 * t) / step)
    sigma = np.array([step / np.sqrt(12.0)])
    rejected = coarse_blind = 0
    for start in range(0, 3800, 50):
        _, misfit, segments = window_fit(window, codes[start : start + 121, None])
        rejected += gates_accept(window, misfit, segments, sigma, np.array([step])) is not None
        coarse_blind += gates_accept(window, misfit, segments, sigma, FINE[:1]) is not None
    assert rejected <= 8 < coarse_blind


@pytest.mark.parametrize("level", [0.01, 0.05])
def test_median_gate_accept_accepts_no_window_across_a_kick(pendulum: System, level: float) -> None:
    samples, sigma, jumps = stream_with_sigma(pendulum, level)
    window = window_make(5, 26, 4, PERIOD)
    gate = median_gate_init(2)
    accepted = []
    for newest in range(2 * window.reach, len(samples), STRIDE):
        taps = samples[newest - 2 * window.reach : newest + 1 : window.spacing]
        _, misfit, _ = window_fit(window, taps)
        if median_gate_accept(gate, window, misfit, taps, sigma) is None:
            accepted.append(newest)
    newest = np.array(accepted)[:, None]
    straddles = (newest - 2 * window.reach < jumps) & (jumps <= newest)
    assert not straddles.any()
    possible = (len(samples) - 2 * window.reach) / STRIDE - len(jumps) * 2 * window.reach / STRIDE
    assert len(accepted) > 0.95 * possible


def test_median_gate_accept_follows_recent_windows_but_not_beyond_the_noise() -> None:
    """However bad the recent windows were, six of their medians cannot excuse more than the noise explains."""
    window = window_make(5, 20, 4, PERIOD)
    gate = median_gate_init(1)
    sigma, samples = np.array([0.01]), np.ones((11, 1))
    bad = np.array([(5.0 * 0.01) ** 2 * window.freedom + 0.02**2])
    reasons = [median_gate_accept(gate, window, bad, samples, sigma) for _ in range(100)]
    assert set(reasons) == {"misfit"}
    good = np.array([0.01**2 * window.freedom])
    assert median_gate_accept(gate, window, good, samples, sigma) is None


def test_gates_limits_widen_the_limit_on_segments_where_quantisation_is_the_noise() -> None:
    """By the variance of the difference of two quantisation errors, step^2 / 6, for each sample."""
    window, sigma = window_make(20, 1, 4, 1e-3), np.array([0.1, 0.1, 0.1])
    misfit, segments = gates_limits(window, sigma, np.array([np.inf, 0.19, 0.21]))
    spread = 1.0 + 4.0 / np.sqrt(2.0 * (41 - 5))
    np.testing.assert_allclose(misfit, 0.01 * (41 - 5) * spread**2, rtol=1e-12)
    np.testing.assert_allclose(segments[:2], segments[0], rtol=1e-12)
    assert segments[2] - segments[0] == pytest.approx(41 * 0.21**2 / 6.0, rel=1e-9)
