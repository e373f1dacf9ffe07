"""docs/constants.md: every named number has its evidence, and C and reference have the same numbers."""

import ast
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
CORE, REFERENCE = ROOT / "core" / "src", ROOT / "src" / "tinyude" / "reference"
FLOAT = {"DEPENDENT"}  # differs by number type: what its sums can still tell


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("write_constants_page", ROOT / "tools" / "write_constants_page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_evidence_names_every_constant_and_no_other(table: ModuleType) -> None:
    _, kind_of, notes = table.evidence()
    found = {(constant.file, constant.name) for constant in table.all_constants()}
    assert len(found) > 200
    assert kind_of.keys() == found, "add or drop lines in docs/constants.toml"
    assert {tuple(key.split(":")) for key in notes} <= found


def test_constants_page_is_as_its_command_writes_it(table: ModuleType) -> None:
    assert table.PAGE.read_text() == table.page(), "run python tools/write_constants_page.py"


def test_constants_sees_pairs_and_rows_and_no_other_names(table: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("A, B = 1, -2.5  # both\nROW = (1, 2)\nlower = 3\nTEXT = 'x'\nON = True\n")
    found = [(c.name, c.value, c.meaning) for c in table.constants(tmp_path / "a.py", "a.py")]
    assert found == [("A", "1", "both"), ("B", "-2.5", "both"), ("ROW", "(1, 2)", "")]


def test_c_constants_sees_reals_and_enumerators(table: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text(
        "static const tu_real NEAR =\n    TU_R(2.5e-5); /* FAR = 1 */\nenum { MEMORY = 1 << 4, PARTS = 3 };\n"
    )
    found = [(c.name, c.value) for c in table.c_constants(tmp_path / "a.c", "a.c")]
    assert found == [("NEAR", "2.5e-5"), ("MEMORY", "1 << 4"), ("PARTS", "3")]


def test_core_and_reference_have_the_same_constants(table: ModuleType) -> None:
    compared = 0
    for source in sorted(CORE.rglob("*.c")):
        path = source.relative_to(CORE).as_posix()
        twin = REFERENCE / table.TWINS.get(path, path.removesuffix(".c") + ".py")
        ours = {c.name: c.value for c in table.constants(twin, path)} if twin.exists() else {}
        for constant in table.c_constants(source, path):
            if constant.name in ours and constant.name not in FLOAT:
                assert number(constant.value) == number(ours[constant.name]), f"{path}: {constant.name}"
                compared += 1
    assert compared >= 40


def number(text: str) -> float:
    base, _, shift = text.partition(" << ")
    return float(ast.literal_eval(base)) * 2.0 ** int(shift or 0)
