import json
import re
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude import native
from tinyude.cli.app import main
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import load
from tinyude.export import TARGETS, Chip, chip_of_model, chip_of_physics, export_files, write_folder
from tinyude.export.advice import arena_bytes, network_advice
from tinyude.export.core_files import core_files
from tinyude.export.sources import prefix_of
from tinyude.export.wire import fingerprint
from tinyude.model.kernel import KernelNetwork
from tinyude.physics.programs import program_numpy
from tinyude.reference.signal.gates import REASONS
from tinyude.training.engines import make_engine
from tinyude.training.known import REACH, known_programs

Run = Callable[..., str]
pytestmark = pytest.mark.skipif(not native.available(), reason="an arena's size needs the compiled core")


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_chip_of_model_offers_the_same_terms_and_network(fitted: tu.UDE, chip: Chip) -> None:
    assert chip.terms == fitted.model_.terms
    assert chip.config.library_terms == fitted.config_.library_terms
    assert chip.config.hidden == fitted.config_.hidden
    assert chip.config.network_nodes == 1
    assert chip.config.reservoir <= 2048
    assert chip.start is not None
    assert chip.config.max_half == chip.start.window_half  # nothing is left to calibrate


def test_chip_of_model_offers_terms_beside_a_kernel_network_alone() -> None:
    """Else nothing on the board would learn; they start at 0, so that the model is the same."""
    rng = np.random.default_rng(0)
    u = np.repeat(rng.uniform(0.0, 10.0, 10), 60)[:, None]
    T = np.empty((600, 1))
    T[0] = 20.0
    for i in range(599):
        T[i + 1] = T[i] + 0.1 * (0.5 * u[i] - 0.1 * T[i] - 1.5 * np.exp(-((T[i] - 25.0) ** 2) / 40.0))
    ude = tu.UDE(tu.Physics(["T"], ["0.5*u"], ["u"]), library=None, network="kernel", refine=False)
    chip = chip_of_model(ude.fit(T + 0.05 * rng.standard_normal(T.shape), t=0.1, u=u))
    assert chip.kernel is not None
    assert [str(term) for term in chip.terms] == ["1", "T", "u"]
    assert chip.config.library_terms == 3
    assert chip.start is not None
    assert not chip.start.coefficients.any()
    assert not chip.start.network_on.any()
    assert chip.parameters == {"gain of the network of T": 1.0}
    assert (chip.config.parameters, chip.config.forced) == (1, 0) and chip.with_kept_terms().config.forced == 0
    assert fingerprint(chip) != fingerprint(replace(chip, kernel=chip.kernel.scaled(np.array([1.1]))))
    assert chip.visited is not None and chip.programs.outside.outputs
    limit = chip.visited["T"][1] + REACH * chip.kernel.lengths()[0]
    hot = np.float64([[limit + 0.01, 5.0], [limit - 0.01, 5.0]])
    assert (program_numpy(chip.programs.outside, hot)[:, 0] > 0.0).tolist() == [True, False]
    hotter = T + 0.5 * np.ptp(T) + 0.05 * rng.standard_normal(T.shape)
    engines = ("native", "reference")
    given = ("float64", chip.config, chip.physics, chip.terms, (chip.kernel,), chip.visited)
    made = [make_engine(name, *given)[0] for name in engines]
    for engine in made:
        engine.start(chip.start)
        engine.push(np.hstack([hotter, u]))
    state, twin = (engine.state() for engine in made)
    np.testing.assert_array_equal(state["rejected"], twin["rejected"])
    assert state["rejected"][REASONS.index("outside")] > 100 and state["accepted"] == twin["accepted"] > 10


def test_outside_of_an_angle_is_told_on_the_circle() -> None:
    kernel = KernelNetwork(
        (1,), (0, 1), (0,), np.zeros(3), np.zeros((1, 1, 3)), np.array([[1.0, 1.0, 0.0]]), np.ones((1, 1)),
        np.zeros((1, 4)),
    )  # fmt: skip
    physics = tu.Physics(["theta", "omega"], ["omega", "-sin(theta)"], angles=["theta"])
    assert kernel.lengths() == {0: 1.0}
    outside = known_programs(physics, [], (1,), (kernel,), {"theta": (3.0, 4.0), "omega": (0.0, 0.1)}).outside
    x = np.array([[3.5, 9.0], [3.5 - 2.0 * np.pi, 9.0], [2.7, 0.0], [4.3, 0.0], [0.0, 0.0]])  # its length is 1
    assert (program_numpy(outside, x)[:, 0] > 0.0).tolist() == [False, False, True, True, True]


def test_chip_of_model_keeps_room_to_calibrate_without_weights(fitted: tu.UDE) -> None:
    chip = chip_of_model(fitted, weights=False)
    assert chip.start is None
    assert chip.config.max_half == min(fitted.config_.max_half, 256)


def test_with_kept_terms_predicts_the_same(fitted: tu.UDE, chip: Chip) -> None:
    fewer = chip.with_kept_terms()
    assert 0 < len(fewer.terms) < len(chip.terms)
    x = np.array([[0.3, -1.2], [1.0, 0.4]])
    answers = []
    for each in (chip, fewer):
        learner = native.NativeLearner(each.config, each.programs, "float64")
        assert each.start is not None
        learner.start(each.start)
        answers.append(learner.residual(x))
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-12)
    np.testing.assert_allclose(answers[0][:, 0], fitted.residual(x)[:, 1], rtol=1e-6)


def test_chip_rejects_what_it_cannot_leave_out(fitted: tu.UDE, chip: Chip) -> None:
    with pytest.raises(TinyUDEError, match="which terms it kept"):
        chip_of_model(fitted, weights=False).with_kept_terms()
    with pytest.raises(TinyUDEError, match="without a network nothing would be learned"):
        chip_of_physics(fitted.physics, "paper-v2").without_network()
    with pytest.raises(TinyUDEError, match="reservoir is 0; give 1 to"):
        chip.resized(reservoir=0)


@pytest.mark.parametrize("target", TARGETS)
def test_export_is_the_same_twice_and_names_no_machine(target: str, model: Path, tmp_path: Path) -> None:
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        chip = chip_of_model(load(model))
        write_folder(folder, export_files(chip, target, "rig"), {"target": target})
    assert tree(folders[0]) == tree(folders[1])
    text = b"\n".join(tree(folders[0]).values()).decode()
    for name in (str(tmp_path), str(Path.cwd()), str(Path.home()), socket.gethostname()):
        assert len(name) < 4 or name not in text
    assert not re.search(r"\b20\d\d-\d\d-\d\d\b|\b\d\d:\d\d:\d\d\b", text)


def test_every_target_has_the_same_source(chip: Chip) -> None:
    def sources(target: str) -> dict[str, str]:
        return {path: text for path, text in export_files(chip, target, "rig").items() if path.startswith("src/")}

    first = sources("c")
    assert all(sources(target) == first for target in TARGETS)
    assert {f"src/tinyude/{name}" for name in core_files(inference_only=False)} < set(first)


@pytest.mark.parametrize("inference_only", [False, True], ids=["learner", "predictor"])
def test_generated_c_has_float_literals_only(chip: Chip, inference_only: bool) -> None:
    files = export_files(chip, "c", "rig", inference_only)
    generated = "\n".join(text for path, text in files.items() if re.fullmatch(r"src/rig\w*\.[ch]", path))
    code = re.sub(r"/\*.*?\*/", "", generated, flags=re.DOTALL)
    code = re.sub(r"KNOWN\(\S+, \S+\)", "", code)  # picks the float one
    code = re.sub(r'"[^"\n]*"', "", code)  # names of terms
    assert re.findall(r"\d\.\d+(?:e[+-]?\d+)?f", code)
    assert not re.findall(r"\b\d+\.\d*(?:e[+-]?\d+)?(?![\df])", code)


def test_predictor_brings_nothing_that_learns(chip: Chip) -> None:
    files = export_files(chip, "c", "rig", inference_only=True)
    assert {path for path in files if path.startswith("src/tinyude/")} == {
        f"src/tinyude/{name}" for name in ("tinyude.h", "real.h", "elementary.h", "elementary.c", "LICENSE")
    }
    assert "arena" not in files["src/rig.c"]


def test_predictor_needs_a_fitted_model(fitted: tu.UDE) -> None:
    with pytest.raises(TinyUDEError, match="leave out --no-weights"):
        export_files(chip_of_model(fitted, weights=False), "c", "rig", inference_only=True)


def test_config_states_the_arena_to_the_byte(chip: Chip) -> None:
    files = export_files(chip, "c", "rig")
    assert f"#define RIG_ARENA_BYTES {native.memory(chip.config)['total']}u" in files["src/rig_config.h"]
    assert f"| all | {native.memory(chip.config)['total']:,} |" in files["README.md"]


def test_arduino_package_follows_the_library_rules(chip: Chip) -> None:
    """docs.arduino.cc, library specification: format 1.5."""
    files = export_files(chip, "arduino", "rig")
    fields = dict(line.split("=", 1) for line in files["library.properties"].splitlines())
    needed = ("name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures")
    assert all(fields[name] for name in needed)
    assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,62}", fields["name"])
    assert re.fullmatch(r"\d+\.\d+\.\d+", fields["version"])
    assert fields["category"] == "Data Processing"
    assert f"src/{fields['includes']}" in files
    sketches = [Path(path) for path in files if path.endswith(".ino")]
    assert [sketch.stem for sketch in sketches] == [sketch.parent.name for sketch in sketches] == ["rig"]
    assert not any(path.endswith((".a", ".o", ".exe")) or "utility/" in path for path in files)


def test_platformio_package_points_to_its_files(chip: Chip) -> None:
    files = export_files(chip, "platformio", "rig")
    library = json.loads(files["library.json"])
    assert f"src/{library['headers']}" in files
    (example,) = library["examples"]
    assert all(f"{example['base']}/{name}" in files for name in example["files"])


def test_build_files_name_every_source(chip: Chip) -> None:
    for target, path in (("esp-idf", "CMakeLists.txt"), ("zephyr", "zephyr/CMakeLists.txt")):
        files = export_files(chip, target, "rig")
        named = set(re.findall(r"src}?/([\w/]+\.c)", files[path]))
        assert named == {
            source.removeprefix("src/")
            for source in files
            if source.endswith(".c") and not source.startswith(("samples/", "examples/"))
        }
    assert "config TINYUDE_RIG\n" in files["zephyr/Kconfig"]
    assert "CONFIG_TINYUDE_RIG=y\n" in files["samples/rig/prj.conf"]


@pytest.mark.parametrize(
    "prefix", ["2nd", "a-b", "math", "Time", "tu_x", "tinyude", "", "storage", "unistd", "new", "nul", "Com1"]
)
def test_export_rejects_a_prefix_that_is_no_name_or_taken(prefix: str, chip: Chip) -> None:
    with pytest.raises(TinyUDEError, match="prefix"):
        export_files(chip, "c", prefix)


def test_prefix_of_makes_a_name_of_any_file() -> None:
    assert [prefix_of(name) for name in ("rig", "my rig-2", "2nd", "?")] == ["rig", "my_rig_2", "model_2nd", "model"]


def test_export_rejects_an_unknown_target(chip: Chip) -> None:
    with pytest.raises(TinyUDEError, match="'avr'; use one of arduino, platformio"):
        export_files(chip, "avr", "rig")


def test_write_folder_rejects_a_folder_with_other_things(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(TinyUDEError, match="not an earlier export"):
        write_folder(tmp_path, {"a.c": "int a;"}, {})
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_write_folder_keeps_what_others_changed_or_added(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_folder(folder, {"a.c": "one", "old/b.c": "b"}, {})
    (folder / "notes.txt").write_text("mine")
    write_folder(folder, {"a.c": "two"}, {})
    assert set(tree(folder)) == {"a.c", "notes.txt", "export.json"}
    (folder / "a.c").write_text("my change")
    with pytest.raises(TinyUDEError, match=r"a\.c was changed since"):
        write_folder(folder, {"a.c": "three"}, {})
    assert (folder / "a.c").read_text() == "my change"


def test_write_folder_rejects_a_new_file_where_another_lies(tmp_path: Path) -> None:
    write_folder(tmp_path, {"a.c": "one"}, {})
    (tmp_path / "b.c").write_text("mine")
    with pytest.raises(TinyUDEError, match=r"b\.c was changed"):
        write_folder(tmp_path, {"a.c": "one", "b.c": "theirs"}, {})


def test_network_advice_tells_what_an_idle_one_costs(chip: Chip) -> None:
    assert chip.start is not None
    off = replace(chip, start=replace(chip.start, network_on=np.zeros(1)))
    saved = arena_bytes(chip) - arena_bytes(chip.without_network())
    assert network_advice(off, off) == [f"The fit left the network out; --no-network saves {saved:,} bytes of RAM."]
    used = replace(chip, start=replace(chip.start, network_on=np.ones(1)))
    assert network_advice(used, used) == []
    assert "which --no-network leaves out" in network_advice(used, used.without_network())[0]


def test_export_command_writes_a_package(run: Run, model: Path, tmp_path: Path) -> None:
    out, figures = tmp_path / "out", tmp_path / "figures.json"
    told = run("export", model, "--target", "arduino", "--out", out, "--reservoir", 512, "--compact", "--json", figures)
    found = json.loads(figures.read_text())
    assert f"{found['memory']['total']:,} bytes" in told
    assert found["prefix"] == "my_rig"
    assert set(found["files"]) | {"export.json"} == set(tree(out))
    assert ".reservoir = 512," in (out / "src" / "my_rig_config.h").read_text()
    assert ".compact = 1," in (out / "src" / "my_rig_config.h").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["export", "no.tinyude", "--target", "c", "--out", "x"], "no.tinyude"),
        (["export", "MODEL", "--target", "avr", "--out", "x"], "target is 'avr'"),
        (["export", "MODEL", "--target", "c", "--out", "."], "not an earlier export"),
        (["size", "MODEL", "--board", "z80"], "board is 'z80'"),
        (["size", "--preset", "best"], "preset is 'best'"),
        (["size", "MODEL", "--physics", "rig.toml"], "not both"),
    ],
)
def test_commands_tell_errors_in_one_line(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.txt").write_text("mine")
    monkeypatch.setattr(sys, "argv", ["tinyude", *(str(model) if a == "MODEL" else a for a in arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    told = capsys.readouterr().err.strip()
    assert stopped.value.code == 1
    assert told.startswith("error: ") and "\n" not in told and message in told
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_forgetting_is_an_age_in_windows_of_which_the_newest_are_stored(chip: Chip) -> None:
    config = chip.config
    window = config.sample_period * config.stride
    made = chip.forgetting(1e4 * window).config
    assert (made.forget, made.rolling, config.forget) == (10_000, True, 0)
