from collections.abc import Callable

import numpy as np
import pytest
from scipy.signal import savgol_coeffs

from tinyude.reference.signal.nodes import Nodes, antiderivative, nodes_centre, nodes_gauss, nodes_intervals
from tinyude.reference.signal.window import (
    SEGMENTS,
    Window,
    legendre,
    savgol_rows,
    window_at,
    window_derivative_row,
    window_fit,
    window_make,
)

PERIOD = 1e-3
WINDOWS = [(5, 1, 4), (60, 1, 4), (250, 1, 4), (5, 20, 4), (7, 3, 2)]  # half, spacing, poly: dense and spaced


def sample_times(window: Window) -> np.ndarray:
    """Seconds from the window's centre."""
    return np.linspace(-window.seconds, window.seconds, 2 * window.half + 1)


def node_times(window: Window, nodes: Nodes) -> np.ndarray:
    """Seconds from the window's centre, recovered from L_1 = tau."""
    return nodes.values[0][:, 1] * window.seconds


@pytest.mark.parametrize("poly", [2, 4, 5])
@pytest.mark.parametrize("half", [3, 5, 12])
def test_savgol_rows_equal_scipy(half: int, poly: int) -> None:
    rows = savgol_rows(half, poly)
    for derivative in range(3):
        expected = savgol_coeffs(2 * half + 1, poly, deriv=derivative, use="dot")
        np.testing.assert_allclose(rows[derivative], expected, rtol=1e-9, atol=1e-12)


def test_savgol_rows_projector_keeps_what_no_polynomial_explains() -> None:
    projector = savgol_rows(5, 4)[3]
    tau = np.arange(-5.0, 6.0)
    np.testing.assert_allclose(projector @ tau**4, 0.0, atol=1e-9)
    np.testing.assert_allclose(projector @ projector, projector, atol=1e-12)
    assert np.trace(projector) == pytest.approx(6.0)


@pytest.mark.parametrize("derivative", [0, 1, 2, 3])
def test_legendre_equals_numpy(derivative: int) -> None:
    tau = np.linspace(-1.0, 1.0, 13)
    for j in range(8):
        expected = np.polynomial.legendre.Legendre.basis(j).deriv(derivative)(tau)
        np.testing.assert_allclose(legendre(tau, 8, derivative)[:, j], expected, atol=1e-11)


@pytest.mark.parametrize("times", [1, 2])
def test_antiderivative_differentiates_back(times: int) -> None:
    tau = np.linspace(-1.0, 1.0, 6)
    taps = np.cos(np.linspace(0.0, np.pi, 30))
    table = antiderivative(taps, 6, times)
    for j in range(6):
        series = np.polynomial.Legendre.fit(taps, table[:, j], 10, domain=[-1.0, 1.0])
        expected = np.polynomial.legendre.Legendre.basis(j)(tau)
        np.testing.assert_allclose(series.deriv(times)(tau), expected, atol=1e-9)


@pytest.mark.parametrize(("half", "spacing", "poly"), WINDOWS)
def test_window_fit_reproduces_polynomials_and_their_derivatives(half: int, spacing: int, poly: int) -> None:
    window = window_make(half, spacing, poly, PERIOD)
    assert window.seconds == pytest.approx(half * spacing * PERIOD)
    polynomial = np.polynomial.Polynomial(np.random.default_rng(0).standard_normal(poly + 1), [-1, 1], [-1, 1])
    scaled = sample_times(window) / window.seconds
    coefficients, misfit, segments = window_fit(window, polynomial(scaled)[:, None])
    for derivative in range(3):
        expected = polynomial.deriv(derivative)(0.0) / window.seconds**derivative if derivative else polynomial(0.0)
        assert window_at(window, coefficients[:, 0], 0.0, derivative) == pytest.approx(expected, rel=1e-10)
    assert misfit[0] < 1e-24 and segments[0] < 1e-24


def test_window_derivative_row_is_the_paper_row_in_units_of_tau() -> None:
    window = window_make(5, 20, 4, PERIOD)
    for derivative, row in enumerate(savgol_rows(5, 4)[:3]):
        np.testing.assert_allclose(window_derivative_row(window, derivative), row * 5.0**derivative, atol=1e-10)


@pytest.mark.parametrize(("half", "poly"), [(5, 4), (100, 4)])
def test_window_fit_misfit_and_segments_are_in_units_of_the_noise(half: int, poly: int) -> None:
    window = window_make(half, 1, poly, PERIOD)
    noise = 0.3 * np.random.default_rng(1).standard_normal((2 * half + 1, 2000))
    _, misfit, segments = window_fit(window, noise)
    assert misfit.mean() / 0.3**2 == pytest.approx(window.freedom, rel=0.03)
    if half == 100:  # segments of a long window lose only the polynomial's few degrees of freedom
        assert SEGMENTS - poly - 1 < segments.mean() / 0.3**2 < SEGMENTS


def identity_error(window: Window, nodes: Nodes, orders: tuple[int, ...], motion: list[Callable]) -> np.ndarray:
    """Filtered derivative of each state minus the node sum of its exact field; the channel is motion[0]."""
    coefficients, _, _ = window_fit(window, motion[0](sample_times(window))[:, None])
    times = node_times(window, nodes)
    return np.array(
        [
            window_at(window, coefficients[:, 0], 0.0, order + 1) - nodes.weights[:, state] @ motion[order + 1](times)
            for state, order in enumerate(orders)
        ]
    )


def wave(derivative: int) -> Callable[[np.ndarray], np.ndarray]:
    """sin(9 t + 0.7) + 0.3 t^3, differentiated: far from a quartic over the longer windows."""

    def value(t: np.ndarray) -> np.ndarray:
        cubic = [0.3 * t**3, 0.9 * t**2, 1.8 * t][derivative]
        return 9.0**derivative * np.sin(9.0 * t + 0.7 + derivative * np.pi / 2.0) + cubic

    return value


@pytest.mark.parametrize(("half", "spacing", "poly"), WINDOWS)
def test_nodes_gauss_pass_the_known_physics_through_exactly(half: int, spacing: int, poly: int) -> None:
    window = window_make(half, spacing, poly, PERIOD)
    nodes = nodes_gauss(window, 13, (0, 1))
    np.testing.assert_allclose(nodes.weights.sum(axis=0), 1.0, rtol=1e-10)
    error = identity_error(window, nodes, (0, 1), [wave(0), wave(1), wave(2)])
    np.testing.assert_allclose(error / [9.0, 81.0], 0.0, atol=1e-9)


def test_nodes_gauss_correct_what_the_polynomial_cannot_follow() -> None:
    """At the centre the quartic's derivative is off by far more than the node sum."""
    window = window_make(250, 1, 4, PERIOD)
    motion = [wave(0), wave(1), wave(2)]
    plain = identity_error(window, nodes_centre(window, (0, 1)), (0, 1), motion)
    corrected = identity_error(window, nodes_gauss(window, 9, (0, 1)), (0, 1), motion)
    assert np.all(np.abs(plain) > 1e3 * np.abs(corrected))


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("count", [3, 5, 9])
def test_nodes_gauss_are_exact_for_polynomials_below_their_count(count: int, order: int) -> None:
    window = window_make(40, 1, 4, PERIOD)
    nodes = nodes_gauss(window, count, (order,))
    rate = np.polynomial.Polynomial(np.random.default_rng(count).standard_normal(count))
    motion = rate.integ(order + 1)
    tau, node_tau = sample_times(window) / window.seconds, node_times(window, nodes) / window.seconds
    filtered = window_derivative_row(window, order + 1) @ motion(tau)
    assert nodes.weights[:, 0] @ rate(node_tau) == pytest.approx(filtered, rel=1e-10)


@pytest.mark.parametrize(("half", "spacing", "poly"), WINDOWS)
def test_nodes_intervals_pass_smooth_physics_through_to_second_order(half: int, spacing: int, poly: int) -> None:
    window = window_make(half, spacing, poly, PERIOD)
    nodes = nodes_intervals(window, (0, 1))
    np.testing.assert_allclose(nodes.weights.sum(axis=0), 1.0, rtol=1e-9)
    error = identity_error(window, nodes, (0, 1), [wave(0), wave(1), wave(2)])
    bound = (9.0 * spacing * PERIOD) ** 2  # the midpoint rule's 1/24 of it and a kernel that changes sign
    assert np.all(np.abs(error) / [9.0, 81.0] < bound)


@pytest.mark.parametrize("half", [5, 40])
def test_nodes_intervals_are_exact_for_inputs_held_between_samples(half: int) -> None:
    """dv = u, dp = v with u constant from each sample to the next: no error is left, from v or from p alone."""
    window = window_make(half, 1, 4, PERIOD)
    u = np.random.default_rng(half).standard_normal(2 * half + 1)
    v = np.concatenate([[0.4], 0.4 + PERIOD * np.cumsum(u[:-1])])
    p = np.concatenate([[0.0], np.cumsum(PERIOD * (v[:-1] + v[1:]) / 2.0)])
    nodes = nodes_intervals(window, (0, 1))
    held = u[2 * half - nodes.ticks]
    for state, (channel, order) in enumerate([(v, 0), (p, 1)]):
        coefficients, _, _ = window_fit(window, channel[:, None])
        target = window_at(window, coefficients[:, 0], 0.0, order + 1)
        assert nodes.weights[:, state] @ held == pytest.approx(target, rel=1e-8)


@pytest.mark.parametrize(("half", "spacing"), [(40, 1), (5, 20)])
def test_nodes_ticks_point_at_the_sample_that_holds(half: int, spacing: int) -> None:
    window = window_make(half, spacing, 4, PERIOD)
    for nodes in (nodes_gauss(window, 9, (0,)), nodes_centre(window, (0,))):
        before = window.reach - node_times(window, nodes) / PERIOD  # ticks before the newest sample
        assert np.all((nodes.ticks >= before - 1e-9) & (nodes.ticks < before + 1.0))
        assert np.all(nodes.ticks <= 2 * window.reach)


def test_nodes_values_give_states_and_rates_of_the_fitted_polynomial() -> None:
    window = window_make(40, 1, 4, PERIOD)
    nodes = nodes_gauss(window, 9, (0, 1))
    motion = np.polynomial.Polynomial([0.3, -2.0, 5.0, 40.0])
    coefficients, _, _ = window_fit(window, motion(sample_times(window))[:, None])
    times = node_times(window, nodes)
    np.testing.assert_allclose(nodes.values[0] @ coefficients[:, 0], motion(times), rtol=1e-10)
    np.testing.assert_allclose(nodes.values[1] @ coefficients[:, 0], motion.deriv()(times), rtol=1e-10)
