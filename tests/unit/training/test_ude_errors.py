"""Errors of the estimator: each names the value, the limit and the remedy."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import tinyude as tu
from tinyude import native
from tinyude.estimator.ude import UDE
from tinyude.systems.system import System


def noisy(rows: int = 400) -> np.ndarray:
    t = np.arange(rows) * 0.005
    wave = np.stack([np.sin(3.0 * t), 3.0 * np.cos(3.0 * t)], axis=1)
    return wave + 0.01 * np.random.default_rng(0).standard_normal(wave.shape)


BAD_SETTINGS = {
    "preset": ({"preset": "best"}, "use one of default, paper-v2, paper-v1"),
    "engine": ({"engine": "gpu"}, "use 'native' or 'reference'"),
    "precision": ({"precision": "float16"}, "use 'float64' or 'float32'"),
    "library name": ({"library": "huge"}, "use 'auto', 'rich', a list of terms, or None"),
    "library term": ({"library": ["speed"]}, "speed"),
    "hidden too deep": ({"hidden": (4, 4, 4, 4)}, "up to 3 layer sizes"),
    "hidden zero": ({"hidden": (0,)}, "between 1 and 256"),
    "hidden a number": ({"hidden": 16}, "up to 3 layer sizes"),
    "hidden a fraction": ({"hidden": (4.5,)}, "between 1 and 256"),
    "updates": ({"updates": 0}, "whole number of at least 1"),
    "updates as text": ({"updates": "many"}, "whole number of at least 1"),
    "batch": ({"batch": 2.5}, "whole number of at least 1"),
    "reservoir": ({"reservoir": -1}, "whole number of at least 1"),
    "settings": ({"settings": {"colour": 3}}, "settings names colour"),
    "settings of the system": ({"settings": {"channels": 3}}, "settings names channels, which follow"),
    "measured": ({"measured": ["speed"]}, "the states are theta, omega"),
    "on": ({"on": ["speed"]}, "the states are theta, omega"),
    "sees": ({"sees": ["speed"]}, "these are theta, omega"),
    "on twice": ({"on": ["omega", "omega"]}, "name one or more of theta, omega, each once"),
    "on nothing": ({"on": []}, "name one or more of theta, omega, each once"),
    "sees nothing": ({"sees": []}, "name one or more of theta, omega, each once"),
    "sees twice": ({"sees": ["omega", "omega"]}, "each once"),
    "wraps": ({"wraps": 3}, "give a list of angles"),
    "revolution": ({"wraps": {"theta": "360"}}, "360 for degrees"),
    "hold": ({"hold": None}, "use 'auto', held, linear, cubic"),
    "unmeasured": ({"unmeasured": 3}, "give a guess and a spread"),
    "a term that is none": ({"library": [None]}, "is no expression; give text"),
    "physics": ({"physics": "pendulum"}, "give a tinyude.Physics"),
}


@pytest.mark.parametrize("case", BAD_SETTINGS)
def test_fit_rejects_bad_settings_with_a_remedy(pendulum: System, case: str) -> None:
    changes, remedy = BAD_SETTINGS[case]
    ude = UDE(**{"physics": pendulum.physics, "engine": "reference", **changes})
    with pytest.raises(tu.TinyUDEError, match=remedy):
        ude.fit(noisy(), t=0.005)


BAD_RECORDS = {
    "no samples": ({"Y": np.empty((0, 2))}, "at least 12"),
    "too short": ({"Y": noisy(11)}, "at least 12"),
    "all NaN": ({"Y": np.full((400, 2), np.nan)}, "check the sensor"),
    "columns": ({"Y": np.ones((400, 3))}, "one column for each measured state"),
    "constant": ({"Y": noisy() * [0.0, 1.0]}, "theta is constant"),
    "period": ({"t": -1.0}, "positive number of seconds"),
    "times": ({"t": np.arange(400)[::-1] * 0.005}, "sort the rows"),
    "inputs": ({"u": np.ones(400)}, "no inputs"),
}


@pytest.mark.parametrize("method", ["fit", "score"])
@pytest.mark.parametrize("case", BAD_RECORDS)
def test_fit_and_score_reject_bad_records_with_a_remedy(fitted: UDE, case: str, method: str) -> None:
    changes, remedy = BAD_RECORDS[case]
    ude = clone(fitted) if method == "fit" else fitted
    with pytest.raises(tu.TinyUDEError, match=remedy):
        getattr(ude, method)(**{"Y": noisy(), "t": 0.005, **changes})


@pytest.mark.parametrize(
    ("x", "remedy"),
    [
        ([[np.nan, 0.0]], "drop those rows"),
        ([[1.0, 2.0, 3.0]], "the states theta, omega"),
        (3.0, "the states theta, omega"),
        ([["a", "b"]], "numbers"),
    ],
)
def test_predict_rejects_bad_states_with_a_remedy(fitted: UDE, x: object, remedy: str) -> None:
    for method in (fitted.predict, fitted.residual):
        with pytest.raises(tu.TinyUDEError, match=remedy):
            method(x)


@pytest.mark.parametrize("method", ["predict", "residual", "equations", "simulate", "score", "save"])
def test_unfitted_methods_say_to_fit_first(pendulum: System, method: str) -> None:
    arguments = {"predict": (noisy(),), "residual": (noisy(),), "simulate": ([0.0, 0.0], [0.0, 1.0]),
                 "score": (noisy(),), "save": ("never-written.tinyude",), "equations": ()}  # fmt: skip
    with pytest.raises(tu.TinyUDEError, match="not fitted yet; call fit"):
        getattr(UDE(pendulum.physics, engine="reference"), method)(*arguments[method])


def test_native_engine_missing_falls_back_with_a_warning(pendulum: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "available", lambda: False)
    with pytest.warns(RuntimeWarning, match="Install a C compiler"):
        ude = UDE(pendulum.physics, library=["omega"], engine="native", hidden=(), settings={"stride": 4}).fit(
            noisy(), t=0.005
        )
    assert ude.diagnostics_["engine"] == "reference"
    with pytest.raises(tu.TinyUDEError, match="needs the compiled core"):
        UDE(pendulum.physics, engine="reference", precision="float32").fit(noisy(), t=0.005)


@pytest.mark.parametrize(
    ("wraps", "complaint"),
    [("theta", "give a list"), (["phi"], "phi, which is not measured"), ({"theta": -1.0}, "360 for degrees")],
)
def test_wraps_are_checked(
    pendulum: System, short_stream: tuple[float, np.ndarray], wraps: object, complaint: str
) -> None:
    period, samples = short_stream
    with pytest.raises(tu.TinyUDEError, match=complaint):
        UDE(pendulum.physics, wraps=wraps).fit(samples, t=period)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": "long"}, "window is 'long'; give the length"),
        ({"hold": "stepwise"}, "hold of an input is 'stepwise'; use one of held"),
        ({"random_state": "seven"}, "random_state is 'seven'; give a whole number"),
    ],
)
def test_fit_rejects_wrong_choices_before_it_works(
    options: dict[str, Any],
    message: str,
    pendulum: System,
    short_stream: tuple[float, np.ndarray],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tinyude.estimator.fitting.batch_fit", None)
    period, samples = short_stream
    with pytest.raises(tu.TinyUDEError, match=message):
        UDE(pendulum.physics, **options).fit(samples, t=period)
