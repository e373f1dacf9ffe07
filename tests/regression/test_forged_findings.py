"""Findings of model files with a valid checksum that no fit writes: refused in one line, or shown without harm."""

import copy
import json
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

SCRIPT = '"><script>alert(1)</script>'
Parts = tuple[dict[str, Any], dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def parts(pendulum: tu.systems.system.System, tmp_path_factory: pytest.TempPathFactory) -> Parts:
    """Of a refined model: it has findings of every kind."""
    path = tmp_path_factory.mktemp("parts") / "a.tinyude"
    t, Y = pendulum.stream(noise=0.01)
    tu.UDE(pendulum.physics).fit(Y[:20_000:10], t=t[:20_000:10]).save(path)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["tinyude"]), arrays


def forged(folder: Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> Path:
    text = json.dumps(header)
    path = folder / "a.tinyude"
    path.write_bytes(to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)}))
    return path


def refused(path: Path) -> None:
    with pytest.raises(TinyUDEError, match="is damaged") as caught:
        tu.load(path)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


def changed(parts: Parts, *place: str | int, value: Any = None, drop: bool = False) -> dict[str, Any]:
    """The header with another value at a place of its diagnostics, or without it."""
    header = copy.deepcopy(parts[0])
    inner: Any = header["diagnostics"]
    for name in place[:-1]:
        inner = inner[name]
    if drop:
        del inner[place[-1]]
    else:
        inner[place[-1]] = value
    return header


def test_report_escapes_what_a_model_says_it_was_judged_on(parts: Parts, tmp_path: Path) -> None:
    header = copy.deepcopy(parts[0])
    figures = header["diagnostics"]["verdict"]["figures"]
    figures |= {"fitted": copy.deepcopy(figures), "judged_on": SCRIPT, "outside": 0.1}
    page = render(collect(tu.load(forged(tmp_path, header, parts[1]))))
    assert "<script>alert" not in page and "alert(1)" in page


RUN = ("verdict", "figures", "free_run")
CANDIDATE = ("refinement", "candidates", 0)
LACKING = [
    (*RUN, "known"), ("verdict", "figures", "judged_on"), ("verdict", "figures", "outside"), ("verdict", "reasons"),
    ("verdict", "figures", "windows_passed"), ("verdict", "figures", "horizons", "hold"), (*CANDIDATE, "error"),
    (*CANDIDATE, "unknowns"), ("refinement", "held_back_runs"), ("innovations", "bound"),
    ("innovations", "auto", "omega"), ("innovations", "known", "cross"), ("window", "order"), ("warnings",),
    ("terms", 0, "low"), ("seconds",),
]  # fmt: skip


@pytest.mark.parametrize("place", LACKING, ids=lambda place: ".".join(map(str, place)))
def test_load_refuses_findings_that_lack_an_entry(place: tuple[str | int, ...], parts: Parts, tmp_path: Path) -> None:
    refused(forged(tmp_path, changed(parts, *place, drop=True), parts[1]))


NO_CURVES: dict[str, Any] = {"lags": [], "bound": 0.0, "auto": {}, "cross": {}}
WRONG = {
    "status": (("verdict", "status"), SCRIPT),
    "severity": (("verdict", "reasons"), [{"severity": "x", "text": "", "remedy": "", "kind": ""}]),
    "candidate's error": ((*CANDIDATE, "error"), "%s"),
    "candidate's unknowns": ((*CANDIDATE, "unknowns"), SCRIPT),
    "share of no state": (("verdict", "figures", "unexplained"), {"phi": {"share": 1.0, "known": 1.0, "noise": 1.0}}),
    "channel": (("innovations", "auto"), {"phi": [1.0]}),
    "no lags": (("innovations",), NO_CURVES),
    "infinite lag": (("innovations", "lags", 1), np.inf),
    "correlation": (("innovations", "auto", "omega", 1), np.nan),
    "noise": (("noise", 0), -1.0),
    "infinite noise": (("noise", 0), np.inf),
    "counts": (("windows",), -1),
    "a coefficient's error": (("terms", 0, "error"), -1.0),
}


@pytest.mark.parametrize("case", WRONG)
def test_load_refuses_findings_that_no_fit_writes(case: str, parts: Parts, tmp_path: Path) -> None:
    place, value = WRONG[case]
    refused(forged(tmp_path, changed(parts, *place, value=value), parts[1]))


PICTURES = {
    "times that fall": ("record.t", lambda a: a[::-1].copy()),
    "one time": ("record.t", lambda a: np.zeros_like(a)),
    "a time that is none": ("record.t", lambda a: np.full_like(a, np.nan)),
    "infinite sample": ("record.Y", lambda a: np.full_like(a, np.inf)),
    "huge rates": ("record.dx", lambda a: np.full_like(a, 1e300)),
    "no rates": ("record.dx", lambda a: np.full_like(a, np.nan)),
    "inputs without an end": ("record.u", lambda a: np.zeros((10**9, 0))),
    "no inputs": ("record.u", lambda a: np.zeros((0, 0))),
    "whole numbers": ("history.loss", lambda a: np.zeros(len(a), dtype=np.int64)),
}


@pytest.mark.parametrize("case", PICTURES)
def test_load_refuses_pictures_that_no_fit_writes(case: str, parts: Parts, tmp_path: Path) -> None:
    name, change = PICTURES[case]
    refused(forged(tmp_path, parts[0], {**parts[1], name: change(parts[1][name])}))


def test_report_of_windows_at_one_time_has_no_correlations(parts: Parts, tmp_path: Path) -> None:
    """Without innovations the page shows those of the windows, at lags that were all 0."""
    header = changed(parts, "innovations", drop=True)
    one_time = {**parts[1], "record.window_t": np.zeros_like(parts[1]["record.window_t"])}
    pages = [collect(tu.load(forged(tmp_path, header, arrays)))["page"] for arrays in (parts[1], one_time)]
    kept, lost = ([panel["title"] for panel in page["analysis"]] for page in pages)
    assert set(kept) - set(lost) == {"Unexplained remainder: autocorrelation"} and set(lost) < set(kept)


@pytest.mark.parametrize("name", ["offset", "centres", "inverse_lengths", "weights", "linear"])
@pytest.mark.parametrize("value", [1e300, np.inf, np.nan])
def test_load_refuses_a_kernel_network_of_absurd_numbers(name: str, value: float, parts: Parts, tmp_path: Path) -> None:
    header = parts[0] | {"kernel": {"on": [1], "sees": [0, 1], "angles": []}}
    shapes = {"offset": 2, "centres": (1, 3, 2), "inverse_lengths": (1, 2), "weights": (1, 3), "linear": (1, 3)}
    kernel = {f"kernel.{key}": np.ones(shape) for key, shape in shapes.items()}
    kernel[f"kernel.{name}"].flat[0] = value
    refused(forged(tmp_path, header, parts[1] | kernel))
