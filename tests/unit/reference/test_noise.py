import numpy as np
import pytest

from tinyude.reference.signal.noise import Noise, noise_init, noise_sigma, noise_step, noise_update
from tinyude.reference.signal.repair import repair_init, repair_push
from tinyude.reference.signal.ring import ring_init, ring_push
from tinyude.systems.signals import outliers, quantisation_step, quantise
from tinyude.systems.system import System


def estimate(samples: np.ndarray) -> Noise:
    noise, ring = noise_init(samples.shape[1]), ring_init(11, samples.shape[1])
    for row in samples:
        ring_push(ring, row)
        noise_update(noise, ring)
    return noise


def test_noise_sigma_is_within_one_percent_on_a_kicked_pendulum(pendulum: System) -> None:
    """Every level as channels of one stream: 30 s, 7 kicks, 0.1 % to 5 %."""
    clean = pendulum.clean(seed=0)[1][:30_000]
    rms = np.sqrt(np.mean(clean**2, axis=0))
    sigma = np.concatenate([level * rms for level in (0.001, 0.005, 0.01, 0.02, 0.05)])
    noise = np.random.default_rng(0).standard_normal((len(clean), len(sigma)))
    found = noise_sigma(estimate(np.tile(clean, 5) + sigma * noise))
    np.testing.assert_allclose(found, sigma, rtol=0.01)


def test_noise_sigma_of_a_clean_signal_is_small_but_not_zero() -> None:
    t = np.arange(2000) * 1e-3
    signal = np.stack([np.sin(3.0 * t), 50.0 * np.sin(3.0 * t)], axis=1)
    found = noise_sigma(estimate(signal))
    rms = np.sqrt(np.mean(signal**2, axis=0))
    assert np.all(found >= 0.99e-6 * rms) and np.all(found < 2e-4 * rms)


@pytest.mark.parametrize("value", [0.0, 3.0, -1e9])
def test_noise_sigma_of_a_constant_is_its_floor(value: float) -> None:
    """A millionth of its RMS, and the smallest normal float32 of a channel that is 0."""
    found = noise_sigma(estimate(np.full((200, 1), value)))
    assert found[0] == pytest.approx(max(1e-6 * abs(value), 1.1754944e-38))


def test_noise_sigma_is_positive_before_anything_is_known() -> None:
    assert np.all(noise_sigma(noise_init(2)) > 0.0)
    assert np.all(np.isfinite(noise_sigma(estimate(np.ones((3, 2))))))


@pytest.mark.parametrize("bits", [8, 10, 12])
def test_noise_sigma_of_a_quantised_signal_is_never_below_its_step(bits: int) -> None:
    """Most neighbouring codes are equal, so a median of differences would be exactly 0."""
    t = np.arange(6000) * 1e-3
    clean = np.sin(1.5 * t)[:, None]
    codes = quantise(clean, bits)
    assert np.mean(np.diff(codes[:, 0]) == 0.0) > 0.5 or bits == 12
    noise = estimate(codes)
    step = quantisation_step(clean, bits)
    np.testing.assert_allclose(noise_step(noise), step, rtol=1e-6)
    floor = step / np.sqrt(12.0)
    assert np.all(noise_sigma(noise) >= floor * (1.0 - 1e-9)) and np.all(noise_sigma(noise) < 2.0 * floor)


def test_noise_sigma_of_a_signal_that_never_turns_back_is_its_noise() -> None:
    """The smallest change of a turning shaft is far above its noise, and was taken for a step of its encoder."""
    rng = np.random.default_rng(3)
    t = np.arange(8000) * 2e-3
    angle = 4.0 * t + 0.5 * np.sin(2.0 * t)
    noise = estimate((angle + 1e-4 * rng.standard_normal(t.shape))[:, None])
    assert noise_sigma(noise)[0] == pytest.approx(1e-4, rel=0.1) and noise_step(noise)[0] == 0.0
    stuck = np.concatenate([angle[:4000], np.full(3000, angle[4000]), angle[4000:]])
    assert noise_step(estimate(stuck[:, None]))[0] == 0.0  # a sensor that stood once is not a coarse one


def test_noise_sigma_of_an_encoder_holds_when_it_starts_from_rest() -> None:
    """At rest every residual is 0; the first step seen says what the sensor can tell."""
    t = np.arange(4000) * 1e-3
    moving = 0.01 * np.round(100.0 * np.sin(3.0 * t))[:, None]
    found = noise_sigma(estimate(np.concatenate([np.zeros((1000, 1)), moving])))
    assert found[0] == pytest.approx(0.01 / np.sqrt(12.0), rel=0.3)


def test_noise_sigma_shrugs_off_outliers() -> None:
    rng = np.random.default_rng(1)
    t = np.arange(10_000) * 1e-3
    sigma = 0.02
    noisy = np.sin(3.0 * t)[:, None] + sigma * rng.standard_normal((10_000, 1))
    spoilt = outliers(noisy, 0.01, 20.0 * sigma, rng)
    plain = noise_sigma(estimate(spoilt))[0]
    assert plain == pytest.approx(sigma, rel=0.15)  # while one outlier reaches into eleven residuals
    repair = repair_init(1)
    rows = [repaired[0] for row in spoilt if (repaired := repair_push(repair, row, np.array([plain]))) is not None]
    assert noise_sigma(estimate(np.array(rows)))[0] == pytest.approx(sigma, rel=0.03)


def test_noise_sigma_is_not_moved_by_a_jump() -> None:
    rng = np.random.default_rng(2)
    level = 0.02 * rng.standard_normal((4000, 1))
    jumped = level + 5.0 * (np.arange(4000) >= 2000)[:, None]
    np.testing.assert_allclose(noise_sigma(estimate(jumped)), noise_sigma(estimate(level)), rtol=0.01)
