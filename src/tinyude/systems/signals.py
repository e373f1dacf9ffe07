"""How clean states become sensor streams: noise, outliers, quantisation, lost samples, delay, uneven sampling.

Samples are rows and channels columns. Every function returns a new array and draws from the generator it is given.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike, NDArray

from tinyude.errors import TinyUDEError

Samples = NDArray[np.float64]


def noise_sigma(clean: ArrayLike, level: float) -> Samples:
    """The standard deviation of each channel's noise: level times the RMS of the clean channel."""
    if not 0.0 <= level < np.inf:
        raise TinyUDEError(f"The noise level is {level}; give a share of the signal's RMS, e.g. 0.01 for 1 %.")
    sigma: Samples = level * np.sqrt(np.mean(_samples(clean) ** 2, axis=0))
    return sigma


def sensor_noise(clean: ArrayLike, level: float, rng: Generator) -> Samples:
    """Clean samples with white Gaussian noise."""
    clean = _samples(clean)
    return clean + noise_sigma(clean, level) * rng.standard_normal(clean.shape)


def laplace_noise(clean: ArrayLike, level: float, rng: Generator) -> Samples:
    """Clean samples with white Laplace noise of the same standard deviation: heavier tails."""
    clean = _samples(clean)
    return clean + noise_sigma(clean, level) * rng.laplace(scale=np.sqrt(0.5), size=clean.shape)


def outliers(samples: ArrayLike, fraction: float, size: ArrayLike, rng: Generator) -> Samples:
    """Samples of which a fraction is off by `size` (one for all channels or one each), with a random sign."""
    samples = _samples(samples)
    hit = rng.random(samples.shape) < _fraction(fraction)
    sign = np.where(rng.random(samples.shape) < 0.5, -1.0, 1.0)
    return samples + hit * sign * np.asarray(size, dtype=np.float64)


def quantise(samples: ArrayLike, bits: int) -> Samples:
    """Samples rounded to 2**bits codes that span the range of each channel; a constant channel stays as it is."""
    if not 1 <= bits <= 52:
        raise TinyUDEError(f"Cannot quantise to {bits} bits; give 1 to 52.")
    samples = _samples(samples)
    low = np.nanmin(samples, axis=0)
    step = quantisation_step(samples, bits)
    safe = np.where(step > 0.0, step, 1.0)
    quantised: Samples = low + safe * np.round((samples - low) / safe)
    return np.where(step > 0.0, quantised, samples)


def quantisation_step(samples: ArrayLike, bits: int) -> Samples:
    """The size of one code of `quantise`, for each channel."""
    samples = _samples(samples)
    step: Samples = (np.nanmax(samples, axis=0) - np.nanmin(samples, axis=0)) / (2**bits - 1)
    return step


def dropouts(samples: ArrayLike, fraction: float, rng: Generator) -> Samples:
    """Samples of which a fraction is lost, every channel at once: NaN."""
    samples = _samples(samples).copy()
    samples[rng.random(len(samples)) < _fraction(fraction)] = np.nan
    return samples


def delay(samples: ArrayLike, channel: int, count: int) -> Samples:
    """Samples with one channel late by `count` samples; its first value is held until then."""
    samples = _samples(samples).copy()
    if not 0 <= count < len(samples):
        raise TinyUDEError(f"Cannot delay {len(samples)} samples by {count}; give 0 to {len(samples) - 1}.")
    column = samples[:, channel].copy()
    samples[count:, channel] = column[: len(column) - count]
    samples[:count, channel] = column[0]
    return samples


def jittered_times(count: int, period: float, jitter: float, rng: Generator) -> Samples:
    """Time stamps that miss the regular ones by up to jitter x period either way, and still increase; starts at 0."""
    if not 0.0 <= jitter < 0.5:
        raise TinyUDEError(f"The jitter is {jitter} periods; from 0.5 on the order of stamps would change.")
    times: Samples = (np.arange(count) + rng.uniform(-jitter, jitter, count)) * period
    times[:1] = 0.0
    return times


def _samples(values: ArrayLike) -> Samples:
    samples = np.asarray(values, dtype=np.float64)
    if samples.ndim != 2 or len(samples) == 0:
        raise TinyUDEError(f"Samples have shape {samples.shape}; give a non-empty array (samples, channels).")
    return samples


def _fraction(fraction: float) -> float:
    if not 0.0 <= fraction <= 1.0:
        raise TinyUDEError(f"The fraction is {fraction}; give a number from 0 to 1.")
    return fraction
