"""Every field of a model file's header and every tensor, changed one at a time under a valid checksum.

A file is refused in one line, or the model that it holds can be printed, evaluated and shown.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

import tinyude as tu
from tinyude.errors import TinyUDEError
from tinyude.model.file import checksum
from tinyude.report.collect import collect
from tinyude.report.page import render

Parts = tuple[dict[str, Any], dict[str, np.ndarray]]
Place = tuple[str | int, ...]
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 3.7, 1e308, -1e-308, 2**63, 10**400, float("nan"), float("inf"), "", "x", "*/", "\x1b[31m",
    "</script>", "a\nb", [], {}, [[]], ["theta"] * 30, "sin(" * 40, {"a": 1},
)  # fmt: skip
TRIED = 1  # values of each field
ARRAYS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "one not a number": lambda a: _with_first(a, np.nan),
    "one infinite": lambda a: _with_first(a, np.inf),
    "one negative": lambda a: _with_first(a, -1.0),
    "huge": lambda a: np.full(a.shape, 1e300),
    "equal": lambda a: np.full(a.shape, -1.0),
    "zero": lambda a: np.zeros(a.shape),
    "empty": lambda a: np.zeros(0),
    "shorter": lambda a: a[:-1],
    "twice": lambda a: np.concatenate([a, a]),
    "another axis": lambda a: a[None],
    "single precision": lambda a: a.astype(np.float32),
    "backwards": lambda a: a[::-1].copy(),
}


def _with_first(values: np.ndarray, value: float) -> np.ndarray:
    changed = values.copy()
    changed.flat[:1] = value
    return changed


@pytest.fixture(scope="module", params=["mlp", "kernel"])
def parts(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """A model of the streaming learner, and a refined one with an input and a learned parameter."""
    t = np.arange(400) * 0.01
    phase = 3.0 * t + 0.2 * np.sin(3.0 * t)
    samples = np.stack([np.sin(phase), (3.0 + 0.6 * np.cos(3.0 * t)) * np.cos(phase)], axis=1)
    samples += 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    path = tmp_path_factory.mktemp("parts") / "a.tinyude"
    if request.param == "mlp":
        physics = tu.Physics(["x", "v"], ["v", "-k*x"], parameters={"k": 9.0})
        ude = tu.UDE(physics, network="mlp", hidden=(3,), library=["v"], updates=40).fit(samples, t=0.01)
    else:
        k = tu.Parameter(8.5, learn=True, min=1.0)
        physics = tu.Physics(["x", "v"], ["v", "-k*x + 0.1*u"], ["u"], {"k": k})
        ude = tu.UDE(physics, library=["v", "tanh(3*v)"], keep=True).fit(samples, t=0.01, u=np.sin(1.7 * t))
    ude.save(path)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["tinyude"]), arrays


def fields(node: Any, place: Place = ()) -> Iterator[Place]:
    """Every field of the header, of long lists the first few."""
    if place:
        yield place
    for key, inner in node.items() if isinstance(node, dict) else enumerate(node[:3]) if isinstance(node, list) else ():
        yield from fields(inner, (*place, key))


def changes(header: dict[str, Any]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """The header without a field, and with some of the values in its place; other values for each field."""
    draw = random.Random(1)
    for place in fields(header):
        for value in (KeyError, *draw.sample(VALUES, TRIED)):
            forged = copy.deepcopy(header)
            inner: Any = forged
            for key in place[:-1]:
                inner = inner[key]
            if value is KeyError:
                del inner[place[-1]]
            else:
                inner[place[-1]] = value
            yield place, forged


def loaded(path: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> tu.UDE | None:
    """The model, or None if the file was refused in one line with a remedy."""
    text = json.dumps(header)
    path.write_bytes(to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)}))
    try:
        return tu.load(path)
    except TinyUDEError as error:
        assert str(error).isprintable() and len(str(error)) < 600
        assert "save the model again" in str(error) or "install a newer version" in str(error)
        return None


def used(ude: tu.UDE) -> None:
    x, inputs = np.full((2, ude.physics.n_states), 0.3), ude.physics.n_inputs
    u = np.zeros((2, inputs)) if inputs else None
    assert str(ude) and ude.equations() and ude.predict(x, u).shape == ude.residual(x, u).shape == x.shape
    ude.extrapolation(x, u)
    ude.terms_  # noqa: B018
    try:
        ude.simulate(x[0], [0.0, 0.01], u)
        ude.residual_interval(x, u)
    except TinyUDEError as error:  # a state that ran away, a fit without intervals
        assert str(error).isprintable()


def test_load_refuses_or_takes_every_change_of_a_header(parts: Parts, tmp_path: Path) -> None:
    header, arrays = parts
    unchanged = loaded(tmp_path / "a.tinyude", header, arrays)
    assert unchanged is not None and used(unchanged) is None
    refused = count = 0
    for place, forged in changes(header):
        count += 1
        try:
            ude = loaded(tmp_path / "a.tinyude", forged, arrays)
            refused += ude is None
            if ude is not None:
                used(ude)
        except Exception as error:
            raise AssertionError(f"{place}: {type(error).__name__}: {error}") from error
    assert count > 300 and 0.95 * count > refused > 0.5 * count


def test_load_refuses_or_takes_every_change_of_a_tensor(parts: Parts, tmp_path: Path) -> None:
    """What is taken is also drawn on a page if the page shows that tensor."""
    header, arrays = parts
    for name, values in arrays.items():
        for case, change in ARRAYS.items():
            forged = {**arrays, name: np.ascontiguousarray(change(values)) if values.size else values}
            try:
                ude = loaded(tmp_path / "a.tinyude", header, forged)
                if ude is not None:
                    used(ude)
                    if name.startswith("record.") and case == "equal":
                        render(collect(ude))
            except Exception as error:
                raise AssertionError(f"{name}, {case}: {type(error).__name__}: {error}") from error
        without = {other: kept for other, kept in arrays.items() if other != name}
        ude = loaded(tmp_path / "a.tinyude", header, without)
        assert ude is None or name.startswith(("record.", "spread.", "covariance"))
