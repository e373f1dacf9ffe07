"""Fits a kernel network: its length scales by log evidence, then its weights over all windows.

Inputs are centred and scaled (angles: sine and cosine); a squared-exponential kernel has one length for each input.
The lengths are fitted with fifty farthest-point centres on a few hundred windows (analytic gradient, L-BFGS, two
starts). The weights of the final units have a closed form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import OptimizeResult, minimize

from tinyude.model.kernel import JITTER, KernelNetwork, kernel_values
from tinyude.training.batch.evidence import NOISE_SPREAD, Posterior, posterior
from tinyude.training.batch.problem import Blocks, Problem, make_blocks
from tinyude.training.batch.triangular import lower_factor, solve_factored, solve_lower
from tinyude.training.batch.units import make_units, squared_distances

Array = NDArray[Any]

SEARCH_CENTRES, CENTRES = 50, 60
LENGTH, LENGTH_SPREAD = 0.7, 1.5  # of the logarithm of a length, in units of an input's spread
SIZE_SPREAD = 3.0  # of the logarithm of the kernel's size around the residual's RMS
LINEAR = 3.0  # times the residual's RMS: prior spread of the linear part
TRIAL, ITERATIONS = 8, 25  # steps from every start, and in all from the better one
STARTS = (0.2, 1.2)  # logarithms of the lengths
FREE_PRICE = 10.0  # log evidence for a kernel that sees a free state
IRRELEVANT = 4.0  # logarithm of a length beyond which an input has no effect
HELD = 1e-6  # of a column: largest remainder after projection onto the terms, if these contain it
ROUNDING = 1e-13  # of the largest squared feature: the accuracy of its sums
WIDER = 10.0  # times the most likely prior variance of the units: for their intervals


@dataclass(frozen=True)
class Inputs:
    """Inputs of the kernel at the nodes: centred, scaled features."""

    sees: tuple[int, ...]
    angles: tuple[int, ...]
    offset: Array  # (features,)
    scale: Array
    z: Array  # (nodes, features)
    free: Array  # (features,) 1: of a state that nothing known bounds


@dataclass(frozen=True)
class KernelFit:
    """Units in scaled features, and the posterior of all weights."""

    inputs: Inputs
    centres: Array  # (units, features)
    inverse_lengths: Array  # (features,)
    root: Array  # (units, units): unit weights from standard normal ones
    linear: Array  # (features + 1,) prior spread of the constant and the slopes; 0: a term has that column
    posterior: Posterior  # of [extra columns, linear part, units], each with unit prior variance; see wide_covariance
    extra: int

    def network(self, state: int) -> tuple[KernelNetwork, Array]:
        """The network of one residual state, and the covariance of [extra columns, its unknowns]."""
        seen, mean = self.inputs, self.posterior.mean
        units, features = len(self.centres), len(seen.scale)
        back = np.zeros((self.extra + units + features + 1, len(mean)))  # standard weights to unknowns
        back[: self.extra, : self.extra] = np.eye(self.extra)
        rows = slice(self.extra, self.extra + units)
        back[rows, self.extra + features + 1 :] = self.root
        slopes = self.linear / np.concatenate([[1.0], seen.scale])
        back[self.extra + units :, self.extra : self.extra + features + 1] = np.diag(slopes)
        unknowns = (back @ mean)[self.extra :]
        network = KernelNetwork(
            (state,), seen.sees, seen.angles, seen.offset, (self.centres * seen.scale)[None],
            (self.inverse_lengths / seen.scale)[None], unknowns[None, :units], unknowns[None, units:],
        )  # fmt: skip
        return network, back @ self.posterior.covariance @ back.T


def make_inputs(columns: Array, sees: Sequence[int], angles: Sequence[int], free: Sequence[int] = ()) -> Inputs:
    """Features of the node columns, without inputs that are constant; free: columns of states that nothing bounds."""
    seen = tuple(k for k in sees if np.ptp(columns[:, k]) > 0.0)
    parts, scale, unbounded = [], [], []
    for k in seen:
        unbounded += [k in free] * (2 if k in angles else 1)
        if k in angles:
            parts += [np.sin(columns[:, k]), np.cos(columns[:, k])]
            scale += [1.0, 1.0]
        else:
            parts.append(columns[:, k])
            scale.append(float(np.std(columns[:, k])))
    raw = np.stack(parts, axis=-1)
    offset = raw.mean(axis=0)
    rotating = tuple(k for k in seen if k in angles)
    return Inputs(seen, rotating, offset, np.array(scale), (raw - offset) / scale, np.array(unbounded))


def fit_kernel(problem: Problem, inputs: Inputs, extra: Array | None = None) -> KernelFit:
    """Length scales, units and weights; extra: whitened columns (rows, columns) scaled to unit prior variance.

    A free state, such as the angle of a motor, leaves the range of any record, where a kernel that sees it is wrong. It
    is therefore seen only if the evidence is clearly higher.
    """
    more = np.zeros((len(problem.y), 0)) if extra is None else extra
    plain = problem.design(np.concatenate([np.ones((len(inputs.z), 1)), inputs.z], axis=1))
    linear = LINEAR * problem.size * _missing(plain, more)
    hyper = _Search(problem, inputs, make_blocks(problem), more, linear).best()
    lengths = np.exp(hyper[:-2])
    inverse = np.where(hyper[:-2] < IRRELEVANT, 1.0 / lengths, 0.0)
    size = np.exp(hyper[-2])
    whole = _with_lengths(problem, inputs, inverse, size, plain, linear, more)
    if not inputs.free.any():
        return whole
    bounded = np.concatenate([[1.0], ~inputs.free])
    narrow = _with_lengths(problem, inputs, inverse * ~inputs.free, size, plain, linear * bounded, more)
    return whole if whole.posterior.evidence > narrow.posterior.evidence + FREE_PRICE else narrow


def _with_lengths(
    problem: Problem, inputs: Inputs, inverse: Array, size: float, plain: Array, linear: Array, more: Array
) -> KernelFit:
    """Units and weights for these inverse lengths."""
    centres = farthest(inputs.z * inverse, inputs.z, CENTRES)
    root = size * _inverse_root(kernel_values(centres, centres, inverse))
    seen = problem.design(kernel_values(inputs.z, centres, inverse))
    features = np.concatenate([more, linear * plain, seen @ root], axis=1)
    found = posterior(features, problem.y, np.sqrt(problem.whitener.expected))
    found = replace(found, covariance=wide_covariance(found, features, more.shape[1], len(centres)))
    return KernelFit(inputs, centres, inverse, root, linear, found, more.shape[1])


def wide_covariance(found: Posterior, features: Array, extra: int, units: int) -> Array:
    """Covariance of the weights [extra columns, linear part, units], widened where the prior smooths the network.

    The most likely size and lengths trade bias for noise: the estimate is smooth, but the residual of a real plant is
    not a draw from the prior. Its error is about the noise of a less smooth estimate, one under a wider prior.
    The prior of the extra columns is not widened: otherwise a wide network could replace them, and neither would be
    determined.
    """
    own, noise = features[:, extra:], found.noise**2
    gram = own.T @ own

    def inverse(units_precision: float) -> Array:
        precision = np.ones(len(gram))
        precision[len(gram) - units :] = units_precision
        values, vectors = np.linalg.eigh(gram + noise * np.diag(precision))
        return np.asarray((vectors / np.maximum(values, noise * units_precision)) @ vectors.T)

    covariance = found.covariance.copy()
    covariance[extra:, extra:] += noise * (inverse(1.0 / WIDER) - inverse(1.0))
    return covariance


def _missing(plain: Array, beside: Array) -> Array:
    """1 for every column, the constant first, that is not in the span of the terms, 0 for the others.

    A slope that is both a term and in the network would be split between them.
    """
    answer = np.ones(plain.shape[1])
    if not beside.shape[1]:
        return answer
    known = beside
    for k, column in enumerate(plain.T):
        left = column - known @ np.linalg.lstsq(known, column, rcond=None)[0]
        answer[k] = np.linalg.norm(left) > HELD * np.linalg.norm(column)
        if k == 0:  # slopes are of centred inputs
            known = np.concatenate([beside, plain[:, :1]], axis=1)
    return answer


def farthest(scaled: Array, points: Array, count: int) -> Array:
    """`count` of the points, each farthest from those before it in scaled distance."""
    step = max(1, len(scaled) // 4000)
    scaled, points = scaled[::step], points[::step]
    chosen = [int(np.argmin(np.sum((scaled - scaled.mean(axis=0)) ** 2, axis=1)))]
    distance = np.sum((scaled - scaled[chosen[0]]) ** 2, axis=1)
    while len(chosen) < min(count, len(points)):
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.sum((scaled - scaled[chosen[-1]]) ** 2, axis=1))
    return points[chosen]


def _inverse_root(matrix: Array) -> Array:
    """R with R R' = matrix^-1."""
    lower = lower_factor(matrix + JITTER * np.eye(len(matrix)))
    return solve_lower(lower, np.eye(len(lower))).T


class _Search:
    """Log evidence of the blocks as a function of the logarithms of lengths, kernel size and noise scale."""

    def __init__(self, problem: Problem, inputs: Inputs, blocks: Blocks, extra: Array, linear: Array) -> None:
        targets = problem.targets
        first = np.searchsorted(targets.owner, np.arange(targets.count + 1))
        windows = blocks.windows.ravel()
        counts = first[windows + 1] - first[windows]
        nodes = np.concatenate([np.arange(first[w], first[w + 1]) for w in windows])
        starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
        self.whitening, self.y = blocks.whitening, blocks.y.ravel()
        self.shape, self.known = blocks.windows.shape, 0
        weights, z = targets.weights[nodes, problem.state], inputs.z[nodes]
        self.centres = farthest(inputs.z, inputs.z, SEARCH_CENTRES)
        self.units = make_units(z, self.centres, weights, starts)
        self.size, self.noise = np.log(problem.size), 0.5 * np.log(problem.whitener.expected)
        plain = np.concatenate([np.ones((len(z), 1)), z], axis=1)
        sums = np.add.reduceat(plain * weights[:, None], starts, axis=0)
        self.linear = linear * self._whitened(sums)
        if extra.shape[1]:
            each = problem.whitener.interleaved
            rows = (blocks.windows[..., None] * each + np.arange(each)).reshape(-1)
            known = np.zeros((len(problem.prior), self.linear.shape[1]))
            self.linear = np.concatenate([extra[rows], self.linear], axis=1)
            if len(known):
                below = np.concatenate([extra[-len(known) :], known], axis=1)
                self.linear = np.concatenate([self.linear, below])
                self.y = np.concatenate([self.y, np.zeros(len(known))])
                self.known = len(known)

    def _whitened(self, sums: Array) -> Array:
        """Sums over the nodes of the windows as whitened rows."""
        return np.asarray(self.whitening @ sums.reshape(*self.shape, -1)).reshape(-1, sums.shape[1])

    def best(self) -> Array:
        dimension = self.centres.shape[1]
        low = [-3.0] * dimension + [self.size - 9.0, self.noise - 2.0]
        high = [6.0] * dimension + [self.size + 9.0, self.noise + 4.0]
        bounds = list(zip(low, high, strict=True))

        def search(start: Array, iterations: int) -> OptimizeResult:
            options = {"maxiter": iterations}
            return minimize(self.minus, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)

        starts = [np.array([start] * dimension + [self.size, self.noise]) for start in STARTS]
        best = min((search(start, TRIAL) for start in starts), key=lambda result: float(result.fun))
        return np.asarray(search(best.x, ITERATIONS - TRIAL).x)

    def minus(self, hyper: Array) -> tuple[float, Array]:
        """Minus the log evidence with its prior, and its gradient."""
        inverse, size2, s2 = np.exp(-hyper[:-2]), np.exp(2.0 * hyper[-2]), float(np.exp(2.0 * hyper[-1]))
        among = kernel_values(self.centres, self.centres, inverse)
        psi = np.concatenate([self._whitened(self.units.sums(inverse)), np.zeros((self.known, len(among)))])
        units = lower_factor(among + JITTER * np.eye(len(among)))
        root = solve_lower(units, psi.T).T * np.sqrt(size2)
        phi = np.concatenate([root, self.linear], axis=1)
        inner = np.eye(phi.shape[1]) + phi.T @ phi / s2
        inner[np.diag_indices_from(inner)] += ROUNDING * np.max(np.diag(inner))  # ill-conditioned if units are wrong
        factor = lower_factor(inner)
        alpha = (self.y - phi @ solve_factored(factor, phi.T @ self.y) / s2) / s2
        rows = len(self.y)
        log_det = rows * np.log(s2) + 2.0 * np.sum(np.log(np.diag(factor)))
        value = 0.5 * float(self.y @ alpha) + 0.5 * float(log_det)
        # gradient: by the whitened units, by the units among themselves, by the noise
        v = solve_factored(units, psi.T).T
        sigma_v = (v - phi @ solve_factored(factor, phi.T @ v) / s2) / s2
        alpha_v = alpha @ v
        by_psi = size2 * (np.outer(alpha, alpha_v) - sigma_v)
        by_among = -0.5 * size2 * (np.outer(alpha_v, alpha_v) - v.T @ sigma_v)
        trace = (rows - len(inner) + np.trace(solve_factored(factor, np.eye(len(inner))))) / s2
        by_noise = s2 * (float(alpha @ alpha) - trace)
        seen = by_psi[: len(by_psi) - self.known]
        back = np.swapaxes(self.whitening, 1, 2) @ seen.reshape(self.shape[0], -1, by_psi.shape[1])
        by_length = self.units.by_length(back.reshape(-1, by_psi.shape[1]), inverse)
        by_length += squared_distances(by_among * among, self.centres, self.centres, inverse)
        gradient = -np.concatenate([by_length, [np.sum(by_psi * psi), by_noise]])
        prior = np.concatenate([
            (hyper[:-2] - LENGTH) / LENGTH_SPREAD,
            [(hyper[-2] - self.size) / SIZE_SPREAD, (hyper[-1] - self.noise) / NOISE_SPREAD],
        ])  # fmt: skip
        spread = np.array([LENGTH_SPREAD] * (len(hyper) - 2) + [SIZE_SPREAD, NOISE_SPREAD])
        return value + 0.5 * float(prior @ prior), gradient + prior / spread
