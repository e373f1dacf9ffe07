"""ARCHITECTURE.md names functions and folders that are there, in walks of at most twelve hops."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import tinyude as tu
from tinyude.cli.fit import fit
from tinyude.export.boards.memory_presets import board_config
from tinyude.physics.library import linear_terms
from tinyude.training.engines import ReferenceLearner
from tinyude.training.known import known_functions

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
REFERENCE, CORE = ROOT / "src" / "tinyude" / "reference", ROOT / "core" / "src"
MOST_HOPS = 12


def walk(heading: str) -> list[list[str]]:
    """Cells of the table below a heading, without the number of the hop."""
    part = TEXT[TEXT.index(heading) :].partition("\n## ")[0]
    return [[cell.strip(" `") for cell in row.split("|")[2:-1]] for row in re.findall(r"^\| \d+ \|.*$", part, re.M)]


@pytest.mark.parametrize("heading", ["The walk of one sample", "The walk of one CSV"])
def test_walk_has_few_hops(heading: str) -> None:
    assert 8 <= len(walk(heading)) <= MOST_HOPS


def test_walk_of_a_sample_names_functions_of_both_engines() -> None:
    for function, file, _ in walk("The walk of one sample"):
        source = (REFERENCE / f"{file}.py").read_text()
        assert f"def {function}(" in source, f"{file}.py has no {function}"
        twin = "".join(path.read_text() for path in (CORE / file).parent.glob(f"{Path(file).name}*.c"))
        assert re.search(rf"^\w[\w ]* \*?tu_{function}(_slice)?\(", twin, re.M), (
            f"core/src/{file}*.c has no tu_{function}"
        )


def first_calls(work: Callable[[], object], hops: list[str]) -> list[str]:
    """Those of the functions `module.name` that the work calls, in the order of their first call."""
    found: dict[str, None] = {}

    def watch(frame: FrameType, event: str, _: object) -> None:
        name = f"{frame.f_globals.get('__name__', '')}.{frame.f_code.co_name}"
        if event == "call" and name in hops:
            found[name] = None

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


@pytest.mark.slow
def test_walk_of_a_sample_is_followed_in_its_order() -> None:
    plant = tu.systems.pendulum()
    _, samples = plant.stream(noise=0.01, seconds=3.0)
    terms = linear_terms(plant.physics)
    config = board_config(
        plant.physics, samples=len(samples), terms=terms, hidden=(4,), calibration=1500, stride=10, network_nodes=1,
        train_every=1000, updates=5, batch=8,
    )  # fmt: skip
    learner = ReferenceLearner(config, known_functions(plant.physics, terms, config.on))
    hops = [
        f"tinyude.reference.{file.replace('/', '.')}.{function}" for function, file, _ in walk("The walk of one sample")
    ]
    learner.push(samples[:1600])  # the calibration tries windows before any is used
    assert first_calls(lambda: (learner.push(samples[1600:]), learner.call("finish")), hops) == hops


@pytest.mark.slow
def test_walk_of_a_log_is_followed_in_its_order(tmp_path: Path) -> None:
    t, samples = tu.systems.pendulum("A").stream(noise=0.01, seconds=8.0)
    log, physics = tmp_path / "log.csv", tmp_path / "rig.toml"
    np.savetxt(log, np.column_stack([t, samples])[::10], delimiter=",", header="time,theta,omega", comments="")
    physics.write_text('[states]\ntheta = "omega"\nomega = "-9.81*sin(theta)"\n', encoding="utf-8")
    hops = [f"tinyude.{name}" for name, _ in walk("The walk of one CSV")]
    model, page = tmp_path / "a.tinyude", tmp_path / "a.html"
    assert first_calls(lambda: fit([log], physics, out=model, report=page), hops) == hops


def test_rooms_are_those_that_stand_there() -> None:
    """Every folder of the package and of the core has its line."""
    rooms = TEXT[TEXT.index("## Rooms") :].partition("\n## ")[0]
    for parent in (ROOT / "src" / "tinyude", CORE):
        for folder in (path for path in parent.iterdir() if path.is_dir() and path.name != "__pycache__"):
            assert re.search(rf"\b{folder.name}/", rooms), folder.name
