"""How noise of the samples enters the regression targets."""

import numpy as np

from tinyude.reference.signal.nodes import nodes_gauss
from tinyude.reference.signal.window import legendre, window_make
from tinyude.training.batch.covariance import _noise_values
from tinyude.training.batch.targets import Layout, node_places


def test_noise_of_a_carried_angle_is_the_integral_of_that_of_its_rate() -> None:
    """Up to a constant: the mean of a carried angle has hardly any noise."""
    window = window_make(20, 1, 4, 0.01)
    layout = Layout((0, 1), (0, 0), 0.01, ("theta", "omega"), carried=((0, 1),))
    tau, _ = node_places(window, layout, 9)
    coefficients = np.random.default_rng(0).standard_normal(5)
    channel, values = _noise_values(window, layout, nodes_gauss(window, 9, (0, 0)), 9, 0)
    rate = np.polynomial.legendre.Legendre(coefficients)
    angle = window.seconds * rate.integ()(tau)  # d tau = d t / half width
    found = values @ coefficients
    assert channel == 1
    np.testing.assert_allclose(found - found[0], angle - angle[0], rtol=1e-9, atol=1e-12)
    channel, values = _noise_values(window, layout, nodes_gauss(window, 9, (0, 0)), 9, 1)
    np.testing.assert_allclose(values @ coefficients, legendre(tau, 5) @ coefficients, rtol=1e-9)
    assert channel == 1
