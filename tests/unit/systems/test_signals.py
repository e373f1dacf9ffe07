import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.systems import signals

TIMES = np.arange(20_000) / 1000.0
CLEAN = np.stack([np.sin(3.0 * TIMES), 40.0 + 5.0 * np.cos(7.0 * TIMES)], axis=1)


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("make", [signals.sensor_noise, signals.laplace_noise])
def test_noise_has_the_level_of_each_channels_rms(make) -> None:
    noise = make(CLEAN, 0.05, rng()) - CLEAN
    np.testing.assert_allclose(noise.std(axis=0), 0.05 * np.sqrt((CLEAN**2).mean(axis=0)), rtol=0.03)
    np.testing.assert_allclose(noise.mean(axis=0) / noise.std(axis=0), 0.0, atol=0.03)


def test_laplace_noise_has_heavier_tails_than_sensor_noise() -> None:
    def kurtosis(noise: np.ndarray) -> np.ndarray:
        return np.asarray(np.mean(noise**4, axis=0) / np.mean(noise**2, axis=0) ** 2)

    assert np.all(kurtosis(signals.laplace_noise(CLEAN, 0.01, rng()) - CLEAN) > 5.0)
    assert np.all(kurtosis(signals.sensor_noise(CLEAN, 0.01, rng()) - CLEAN) < 3.5)


def test_sensor_noise_is_the_same_draw_scaled_by_the_level() -> None:
    small, large = (signals.sensor_noise(CLEAN, level, rng()) - CLEAN for level in (0.01, 0.02))
    np.testing.assert_allclose(large, 2.0 * small, atol=1e-12)
    np.testing.assert_array_equal(signals.sensor_noise(CLEAN, 0.0, rng()), CLEAN)


def test_outliers_move_a_fraction_by_their_size() -> None:
    moved = signals.outliers(CLEAN, 0.02, [1.0, 9.0], rng()) - CLEAN
    assert np.mean(moved != 0.0) == pytest.approx(0.02, abs=0.003)
    for channel, size in enumerate([1.0, 9.0]):
        hit = moved[moved[:, channel] != 0.0, channel]
        np.testing.assert_allclose(np.abs(hit), size, rtol=1e-9)
        assert 0.3 < np.mean(hit > 0.0) < 0.7


def test_quantise_rounds_to_codes_that_span_the_range() -> None:
    quantised = signals.quantise(CLEAN, 6)
    step = signals.quantisation_step(CLEAN, 6)
    assert np.all(np.abs(quantised - CLEAN) <= step * 0.5000001)
    assert len(np.unique(quantised[:, 0])) == 64
    np.testing.assert_allclose(quantised.max(axis=0) - quantised.min(axis=0), np.ptp(CLEAN, axis=0))


def test_quantise_leaves_constant_channels_and_gaps() -> None:
    samples = np.stack([np.full(50, 1.3), np.linspace(0.0, 1.0, 50)], axis=1)
    samples[7] = np.nan
    quantised = signals.quantise(samples, 4)
    assert np.all(np.isnan(quantised[7])) and np.isnan(quantised).sum() == 2
    assert set(quantised[~np.isnan(quantised[:, 0]), 0]) == {1.3}


def test_dropouts_lose_whole_samples() -> None:
    lost = np.isnan(signals.dropouts(CLEAN, 0.1, rng()))
    np.testing.assert_array_equal(lost[:, 0], lost[:, 1])
    assert lost[:, 0].mean() == pytest.approx(0.1, abs=0.01)
    assert not np.isnan(CLEAN).any()


def test_delay_shifts_one_channel() -> None:
    late = signals.delay(CLEAN, 1, 12)
    np.testing.assert_array_equal(late[:, 0], CLEAN[:, 0])
    np.testing.assert_array_equal(late[12:, 1], CLEAN[:-12, 1])
    np.testing.assert_array_equal(late[:12, 1], CLEAN[0, 1])
    np.testing.assert_array_equal(signals.delay(CLEAN, 0, 0), CLEAN)


def test_jittered_times_increase_and_stay_near_the_regular_ones() -> None:
    times = signals.jittered_times(5000, 0.001, 0.4, rng())
    assert times[0] == 0.0 and np.all(np.diff(times) > 0.0)
    late = times / 0.001 - np.arange(5000)
    assert np.abs(late).max() <= 0.4 + 1e-9 and late.std() > 0.2


@pytest.mark.parametrize(
    "call",
    [
        lambda: signals.sensor_noise(CLEAN, -0.1, rng()),
        lambda: signals.sensor_noise(CLEAN, float("nan"), rng()),
        lambda: signals.sensor_noise(CLEAN[:, 0], 0.1, rng()),
        lambda: signals.sensor_noise(CLEAN[:0], 0.1, rng()),
        lambda: signals.outliers(CLEAN, 1.5, 1.0, rng()),
        lambda: signals.quantise(CLEAN, 0),
        lambda: signals.dropouts(CLEAN, -0.1, rng()),
        lambda: signals.delay(CLEAN, 0, len(CLEAN)),
        lambda: signals.jittered_times(10, 0.1, 0.5, rng()),
    ],
)
def test_signals_reject_impossible_settings(call) -> None:
    with pytest.raises(TinyUDEError):
        call()
