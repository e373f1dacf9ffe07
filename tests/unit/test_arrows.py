"""The arrows of the design: which part may know which."""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "tinyude"
C_STANDARD = {"stddef.h", "stdint.h", "stdbool.h", "string.h", "math.h", "float.h", "limits.h"}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """Every module a file imports, as an absolute dotted name; `from a import b` also counts as a.b."""
    package = ["tinyude", *path.relative_to(PACKAGE).parts[:-1]]
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            found |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return found


@cache
def run_imports(path: Path) -> set[str]:
    """Modules that are imported when the file runs: without names that TYPE_CHECKING alone imports.

    `from a import b` counts as a.b where that is a module of the package, otherwise as a.
    """
    found = set()
    for node in _running(tree(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in modules() else node.module for name in inner}
    return found


@cache
def modules() -> dict[str, Path]:
    return {module(path): path for path in PACKAGE.rglob("*.py")}


def module(path: Path) -> str:
    return ".".join(("tinyude", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


def _running(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING"):
            yield child
            yield from _running(child)


def files(folder: str) -> list[Path]:
    found = sorted((PACKAGE / folder).rglob("*.py"))
    assert found, f"there is no folder {folder}"
    return found


def own(path: Path) -> set[str]:
    return {name for name in imports(path) if name.split(".")[0] == "tinyude"}


def foreign(path: Path) -> set[str]:
    tops = {name.split(".")[0] for name in imports(path)}
    return tops - {"tinyude"} - set(sys.stdlib_module_names)


def within(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


def test_imports_sees_every_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "part").mkdir()
    path = tmp_path / "part" / "a.py"
    path.write_text(
        "import numpy.linalg as la\nfrom tinyude import cli\nif la:\n from . import b\n from ..c import d\n"
    )
    expected = {"numpy.linalg", "tinyude.cli", "tinyude.part.b", "tinyude.c.d"}
    assert expected <= imports(path)


def test_core_includes_standard_headers_and_itself_only() -> None:
    folders = [ROOT / "core" / "src", ROOT / "core" / "include"]
    sources = [path for folder in folders for path in folder.rglob("*.[ch]")]
    ours = {path.relative_to(folder).as_posix() for folder in folders for path in folder.rglob("*.h")}
    assert {"tinyude.h", "learner.c", "state.h"} <= {path.name for path in sources}
    for source in sources:
        for kind, name in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', source.read_text(), re.MULTILINE):
            assert name in (C_STANDARD if kind == "<" else ours), f"{source.name} includes {name}"


def test_core_files_have_names_of_their_own() -> None:
    """An export keeps the core in one folder."""
    names = [path.name for path in (ROOT / "core").rglob("*.[ch]")]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("word", ["malloc", "calloc", "realloc", "free", "printf", "exit", "abort"])
def test_core_uses_no_heap_and_no_output(word: str) -> None:
    for source in (ROOT / "core" / "src").rglob("*.[ch]"):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source.read_text(), flags=re.DOTALL)
        assert not re.search(rf"\b{word}\s*\(", code), f"{source.name} calls {word}"


@pytest.mark.parametrize(("folder", "most"), [(PACKAGE, 20), (ROOT / "core" / "src", 16)])
def test_rooms_are_few(folder: Path, most: int) -> None:
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    entries = {path.parts[0] for path in files if "__pycache__" not in path.parts}
    assert 0 < len(entries) <= most, sorted(entries)


def test_rooms_say_what_lives_there() -> None:
    """In three lines or more: what it is for, then what is in it."""
    for path in PACKAGE.rglob("__init__.py"):
        assert len((ast.get_docstring(tree(path)) or "").splitlines()) >= 3, path


def test_reference_knows_numpy_and_itself_only() -> None:
    for path in files("reference"):
        assert foreign(path) <= {"numpy"}, path.name
        assert all(within(name, "tinyude.reference") for name in own(path)), path.name


def test_native_is_the_only_importer_of_the_compiled_core() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.parent.name != "native":
            assert not re.search(r"_core(32|64)", path.read_text()), path.name


def test_nothing_imports_the_command_line() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.name != "__main__.py" and path.parent.name != "cli":
            assert not any(within(name, "tinyude.cli") for name in imports(path)), path.name


# Which rooms a room must not know. Imports for annotations alone do not count.
FORBIDDEN = {
    "physics": ("data", "training", "refinement", "model", "reference", "native", "estimator"),
    "data": ("training", "refinement", "model", "native", "estimator"),
    "native": ("data", "model", "refinement", "estimator"),
    "model": ("training", "refinement", "estimator"),
    "training": ("refinement", "estimator"),
    "refinement": ("estimator",),
    "baselines": ("training", "refinement", "native", "estimator"),
    "report": ("training", "refinement", "native", "reference", "baselines", "estimator"),
}
USERS = ("report", "experiments", "systems", "baselines", "export", "fleet", "link")
LIBRARY = ("physics", "data", "native", "model", "training", "refinement")


@pytest.mark.parametrize("room", FORBIDDEN)
def test_room_knows_only_what_it_stands_on(room: str) -> None:
    names = FORBIDDEN[room] + (USERS if room in LIBRARY else ())
    assert all(files(name) for name in names)
    forbidden = {f"tinyude.{name}" for name in names}
    for path in files(room):
        known = {name for name in run_imports(path) if name.split(".")[0] == "tinyude"}
        assert not any(within(name, *forbidden) for name in known), path.name
        assert "tinyude.UDE" not in imports(path), path.name


def test_modules_import_each_other_in_one_direction() -> None:
    """No cycle, neither when a module is loaded nor by an import within a function."""
    graph = {name: run_imports(path) & modules().keys() - {name} for name, path in modules().items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


BY_NAME = ("tinyude.cli", "tinyude.experiments")  # rooms whose modules a command imports by its own name


def test_every_module_is_used() -> None:
    """By an import, or by its name in a table: of readers of logs, of public names."""
    used = set().union(*(run_imports(path) for path in modules().values()))
    tables = "".join(path.read_text() for path in [*files("data"), PACKAGE / "__init__.py"])
    names = [name for name in modules() if name not in used and not within(name, *BY_NAME)]
    stems = [name.rpartition(".")[2] for name in names if not modules()[name].stem.startswith("__")]
    assert [stem for stem in stems if f'"{stem}"' not in tables] == []


def test_run_imports_leave_out_annotations_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "PACKAGE", tmp_path)
    (tmp_path / "a.py").write_text(
        "if TYPE_CHECKING:\n from tinyude.b import B\n from tinyude.c import C\ndef f():\n from tinyude.c import C\n"
    )
    assert run_imports(tmp_path / "a.py") == {"tinyude.c"}


def test_package_root_only_reexports() -> None:
    defined = {node.name for node in tree(PACKAGE / "__init__.py").body if isinstance(node, ast.FunctionDef)}
    assert defined == {"__getattr__", "__dir__"}


@pytest.mark.parametrize("name", ["eval", "exec", "pickle", "marshal", "shelve", "dill"])
def test_package_executes_nothing_it_reads(name: str) -> None:
    for path in PACKAGE.rglob("*.py"):
        called = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
        assert name not in {function.id for function in called if isinstance(function, ast.Name)}, path.name
        assert name not in {module.split(".")[0] for module in imports(path)}, path.name
