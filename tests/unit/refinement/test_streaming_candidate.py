"""The streaming learner is a candidate only where the windows leave more than noise of the rates."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.estimator import fitting


def chaotic(period: float = 0.075, rows: int = 2000) -> np.ndarray:
    """A circuit of San-Um and Srisuchinwong: free runs part soon, so no model explains the rows of long stretches."""

    def rates(t: float, x: np.ndarray) -> list[float]:
        return [2.0 * (x[1] - x[0]), -x[0] * x[2], x[0] * x[1] - 2.0 + abs(x[1])]

    times = period * np.arange(rows)
    found = solve_ivp(rates, (0.0, times[-1]), [0.64, 1.1, 2.4], t_eval=times, rtol=1e-10, atol=1e-12)
    clean = found.y.T
    return clean + 0.01 * np.sqrt(np.mean(clean**2, axis=0)) * np.random.default_rng(1).standard_normal(clean.shape)


@pytest.mark.parametrize(("library", "called"), [("auto", False), ([], True)])
def test_the_streaming_learner_is_asked_only_if_the_windows_leave_rates(monkeypatch, library, called) -> None:
    asked = []
    streaming = fitting.fit_streaming
    monkeypatch.setattr(fitting, "fit_streaming", lambda *a, **k: asked.append(1) or streaming(*a, **k))
    monkeypatch.setattr(fitting.FitOptions, "asks_for_streaming", lambda self: True)
    physics = tu.Physics(["x", "y", "z"], ["2*(y - x)", "-x*z", "x*y - 2"])
    ude = tu.UDE(physics, library=library, network=None).fit(chaotic(), t=0.075)
    assert any(c.name == "1 more" for c in ude.candidates_) is (library == "auto")  # no model explains the rows
    assert bool(asked) is called
