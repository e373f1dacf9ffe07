import copy
import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

import tinyude as tu
from tinyude.estimator.ude import UDE, load
from tinyude.model.file import FORMAT, checksum

Stream = tuple[float, np.ndarray]


@pytest.fixture(scope="module")
def content(fitted: UDE, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The bytes of a small model file: without the excerpt of the record."""
    small = copy.copy(fitted)
    small.result_ = replace(small.result_, record=None)
    path = tmp_path_factory.mktemp("model") / "small.tinyude"
    small.save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def parts(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:
    """Header and arrays of the small model."""
    path = tmp_path_factory.mktemp("parts") / "small.tinyude"
    path.write_bytes(content)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return json.loads(file.metadata()["tinyude"]), arrays


def written(path: Path, header: object, arrays: dict[str, np.ndarray]) -> Path:
    """A file of this content, with a checksum that fits."""
    text = json.dumps(header)
    path.write_bytes(to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)}))
    return path


def test_save_and_load_give_the_same_model(fitted: UDE, short_stream: Stream, tmp_path: Path) -> None:
    period, samples = short_stream
    fitted.save(tmp_path / "a.tinyude")
    loaded = load(tmp_path / "a.tinyude")
    np.testing.assert_array_equal(loaded.predict(samples), fitted.predict(samples))
    times = np.linspace(0.0, 2.0, 20)
    np.testing.assert_array_equal(loaded.simulate([1.0, 0.0], times), fitted.simulate([1.0, 0.0], times))
    assert loaded.score(samples, t=period) == fitted.score(samples, t=period)
    np.testing.assert_array_equal(loaded.residual_interval(samples), fitted.residual_interval(samples))
    assert loaded.extrapolation([0.0, 99.0]) == fitted.extrapolation([0.0, 99.0]) != []
    assert str(loaded) == str(fitted) and loaded.equations() == fitted.equations()
    assert loaded.get_params()["hidden"] == (4,) and loaded.config_ == fitted.config_
    for name, values in fitted.record_.items():
        np.testing.assert_array_equal(loaded.record_[name], values)
    for name, values in fitted.history_.items():
        np.testing.assert_array_equal(loaded.history_[name], values)


def test_save_of_a_loaded_model_is_the_same_file(fitted: UDE, tmp_path: Path) -> None:
    fitted.save(tmp_path / "a.tinyude")
    load(tmp_path / "a.tinyude").save(tmp_path / "b.tinyude")
    first, second = load(tmp_path / "a.tinyude"), load(tmp_path / "b.tinyude")
    assert first.diagnostics_ == second.diagnostics_
    np.testing.assert_array_equal(first.model_.weights, second.model_.weights)


def test_save_and_load_keep_network_inputs_parameters_and_own_terms(tmp_path: Path, quick_engine: str) -> None:
    physics = tu.Physics(
        ["p", "v"], ["v", "tau - k*p"], inputs=["tau"], parameters={"k": tu.Parameter(9.0, learn=True, min=1.0)}
    )
    t = np.arange(600) * 0.005
    rng = np.random.default_rng(0)
    samples = np.stack([np.sin(3.0 * t), 3.0 * np.cos(3.0 * t)], axis=1) + 0.001 * rng.standard_normal((600, 2))
    force = 0.1 * np.sin(20.0 * t)
    ude = UDE(physics, hidden=(3,), library=["v*abs(v)", "tanh(4*v)"], updates=60, engine=quick_engine)
    ude.fit(samples, t=0.005, u=force)
    ude.model_.network_on[:] = 1.0
    ude.save(tmp_path / "a.tinyude")
    loaded = tu.load(tmp_path / "a.tinyude")
    np.testing.assert_array_equal(loaded.predict(samples, force), ude.predict(samples, force))
    assert loaded.model_.physics.parameters == ude.model_.physics.parameters
    assert loaded.library == ("v*abs(v)", "tanh(4*v)")


def test_save_takes_numpy_numbers(fitted: UDE, short_stream: Stream, tmp_path: Path) -> None:
    period, samples = short_stream
    ude = UDE(
        fitted.physics, hidden=np.array([3]), preset="paper-v2", updates=np.int64(20), engine=fitted.engine,
        settings={"stride": np.int64(4), "gated": 1},
    ).fit(samples[:600], t=period)  # fmt: skip
    ude.save(tmp_path / "a.tinyude")
    np.testing.assert_array_equal(load(tmp_path / "a.tinyude").predict(samples[:5]), ude.predict(samples[:5]))


def test_load_survives_truncation_at_every_byte(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.tinyude"
    path.write_bytes(content)
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        with pytest.raises(tu.TinyUDEError):
            load(path)


def test_load_rejects_a_flipped_bit_anywhere(content: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    path = tmp_path / "flipped.tinyude"
    for place in {*range(300), *rng.integers(0, len(content), 700).tolist()}:
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            load(path)
        except tu.TinyUDEError:
            continue
        names = content[: int.from_bytes(content[:8], "little") + 8]
        assert names[place : place + 1].isspace(), f"byte {place} was not noticed"  # padding of the header


def test_load_rejects_a_newer_format(parts: tuple[dict, dict], tmp_path: Path) -> None:
    header, arrays = parts
    path = written(tmp_path / "newer.tinyude", header | {"format": FORMAT + 1}, arrays)
    with pytest.raises(tu.TinyUDEError, match=f"has format {FORMAT + 1}.*install a newer version"):
        load(path)


SECTIONS = ("format", "physics", "terms", "config", "estimator", "state", "diagnostics")
HARMLESS = [("estimator", {}), ("format", 3)]  # every setting has a default; a newer format that is read


@pytest.mark.parametrize(
    ("key", "value"),
    [(k, v) for k in SECTIONS for v in ("missing", None, [], 3, "text", {}) if (k, v) not in HARMLESS],
)
def test_load_rejects_a_header_of_the_wrong_kind(
    parts: tuple[dict, dict], tmp_path: Path, key: str, value: object
) -> None:
    header, arrays = parts
    changed = {k: v for k, v in header.items() if k != key} | ({} if value == "missing" else {key: value})
    with pytest.raises(tu.TinyUDEError, match=r"save the model again|install a newer version"):
        load(written(tmp_path / "a.tinyude", changed, arrays))


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("config", "on", [7]), ("config", "on", [-1]), ("config", "sees", [0, 9]), ("config", "hidden", [-4]),
        ("config", "channel", [5, 1]), ("config", "channels", 3), ("config", "poly", "four"), ("config", "colour", 1),
        ("state", "window_half", -3), ("state", "window_half", 1e300), ("state", "sigma_scale", "x"),
        ("estimator", "preset", "best"), ("estimator", "colour", 1),
    ],
)  # fmt: skip
def test_load_rejects_settings_that_cannot_be(
    parts: tuple[dict, dict], tmp_path: Path, short_stream: Stream, section: str, key: str, value: object
) -> None:
    """Whatever a header says, loading, predicting and scoring end in an answer or in an error that explains."""
    header, arrays = copy.deepcopy(parts)
    header[section][key] = value
    period, samples = short_stream
    try:
        loaded = load(written(tmp_path / "a.tinyude", header, arrays))
        assert np.all(np.isfinite(loaded.predict(samples[:3])))
        loaded.score(samples, t=period)
    except tu.TinyUDEError:
        return
    assert section == "estimator"


@pytest.mark.parametrize("expression", ["__import__('os').system('true')", "omega**(9**9)", "(" * 400 + ")" * 400])
def test_load_never_runs_what_it_reads(parts: tuple[dict, dict], tmp_path: Path, expression: str) -> None:
    header, arrays = copy.deepcopy(parts)
    header["terms"][0] = expression
    with pytest.raises(tu.TinyUDEError):
        load(written(tmp_path / "a.tinyude", header, arrays))


@pytest.mark.parametrize("name", ["weights", "x_scale", "coefficients", "state.sigma", "history.loss"])
def test_load_rejects_missing_and_misshapen_arrays(parts: tuple[dict, dict], tmp_path: Path, name: str) -> None:
    header, arrays = parts
    without = {key: value for key, value in arrays.items() if key != name}
    with pytest.raises(tu.TinyUDEError, match="save the model again"):
        load(written(tmp_path / "a.tinyude", header, without))
    if "." not in name:
        for wrong in (np.zeros(99), np.zeros((7, 7, 7)), arrays[name].astype(np.float32)):
            with pytest.raises(tu.TinyUDEError, match="save the model again"):
                load(written(tmp_path / "a.tinyude", header, arrays | {name: wrong}))


def test_load_rejects_files_that_are_no_models(tmp_path: Path) -> None:
    with pytest.raises(tu.TinyUDEError, match="There is no file"):
        load(tmp_path / "nowhere.tinyude")
    with pytest.raises(tu.TinyUDEError):
        load(tmp_path)
    (tmp_path / "text.tinyude").write_text("not a model at all, but long enough to look like one")
    with pytest.raises(tu.TinyUDEError, match="not a whole TinyUDE model"):
        load(tmp_path / "text.tinyude")
    (tmp_path / "other.tinyude").write_bytes(to_bytes({"a": np.zeros(3)}))
    with pytest.raises(tu.TinyUDEError, match=r"written by UDE\.save"):
        load(tmp_path / "other.tinyude")


def test_save_into_a_missing_folder_says_so(fitted: UDE, tmp_path: Path) -> None:
    with pytest.raises(tu.TinyUDEError, match="choose a folder with room that you may write to"):
        fitted.save(tmp_path / "missing" / "a.tinyude")


def test_save_leaves_nothing_but_the_model(fitted: UDE, tmp_path: Path) -> None:
    fitted.save(tmp_path / "a.tinyude")
    fitted.save(tmp_path / "a.tinyude")
    assert os.listdir(tmp_path) == ["a.tinyude"]


def test_save_that_fails_keeps_the_old_file(fitted: UDE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.tinyude"
    path.write_bytes(b"the old model")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tinyude.data.whole_file.os.replace", full)
    with pytest.raises(tu.TinyUDEError, match="No space left on device"):
        fitted.save(path)
    assert path.read_bytes() == b"the old model" and os.listdir(tmp_path) == ["a.tinyude"]
