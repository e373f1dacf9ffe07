"""The arrows of the design: which part may know which."""

import ast
import re
import sys
from functools import cache
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


def files(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (PACKAGE / folder).rglob("*.py"))


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
    sources = [*(ROOT / "core" / "src").glob("*.[ch]"), *(ROOT / "core" / "include").glob("*.h")]
    assert sources
    ours = {source.name for source in sources}
    for source in sources:
        for kind, name in re.findall(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', source.read_text(), re.MULTILINE):
            assert name in (C_STANDARD if kind == "<" else ours), f"{source.name} includes {name}"


@pytest.mark.parametrize("word", ["malloc", "calloc", "realloc", "free", "printf", "exit", "abort"])
def test_core_uses_no_heap_and_no_output(word: str) -> None:
    for source in (ROOT / "core" / "src").glob("*.[ch]"):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source.read_text(), flags=re.DOTALL)
        assert not re.search(rf"\b{word}\s*\(", code), f"{source.name} calls {word}"


def test_reference_knows_numpy_and_itself_only() -> None:
    for path in files("reference"):
        assert foreign(path) <= {"numpy"}, path.name
        assert all(within(name, "tinyude.reference") for name in own(path)), path.name


def test_native_is_the_only_importer_of_the_compiled_core() -> None:
    for path in PACKAGE.rglob("*.py"):
        assert not any(name.startswith("tinyude._core") for name in imports(path)), path.name
        mentions = re.search(r"_core(32|64)", path.read_text()) is not None
        assert not mentions or path.name == "native.py" or path.parent.name == "_native", path.name


def test_nothing_imports_the_command_line() -> None:
    for path in PACKAGE.rglob("*.py"):
        if path.name not in ("cli.py", "__main__.py") and path.parent.name != "commands":
            assert not any(within(name, "tinyude.cli", "tinyude.commands") for name in imports(path)), path.name


def test_report_takes_plain_data() -> None:
    """Pages and pictures are made from dictionaries and arrays: no estimator, no engine, no learner."""
    for path in files("report"):
        forbidden = ("tinyude.estimator", "tinyude.engines", "tinyude.native", "tinyude.reference", "tinyude.baselines")
        runtime = imports(path) - _type_checking_imports(path)
        assert not any(within(name, *forbidden) for name in runtime), path.name
        assert "tinyude.UDE" not in runtime, path.name


def _type_checking_imports(path: Path) -> set[str]:
    """Names imported for annotations alone, which do not run."""
    found = set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for child in ast.walk(node):
                if isinstance(child, ast.ImportFrom) and child.module:
                    found |= {child.module, *(f"{child.module}.{alias.name}" for alias in child.names)}
    return found


def test_baselines_know_the_reference_but_not_the_estimator() -> None:
    for path in files("baselines"):
        forbidden = ("tinyude.estimator", "tinyude.engines", "tinyude.native", "tinyude.model_file")
        assert not any(within(name, *forbidden) for name in own(path)), path.name


@pytest.mark.parametrize("module", ["physics", "expressions", "parsing", "signals", "streams", "terms", "errors"])
def test_foundations_do_not_know_what_stands_on_them(module: str) -> None:
    above = ("tinyude.estimator", "tinyude.engines", "tinyude.native", "tinyude.report", "tinyude.experiments")
    assert not any(within(name, *above) for name in own(PACKAGE / f"{module}.py"))


@pytest.mark.parametrize("module", ["estimator", "engines", "model", "model_file", "native", "diagnosis"])
def test_library_does_not_know_its_users(module: str) -> None:
    users = ("tinyude.report", "tinyude.experiments", "tinyude.systems", "tinyude.baselines", "tinyude.demo")
    assert not any(within(name, *users) for name in own(PACKAGE / f"{module}.py"))


def test_package_root_only_reexports() -> None:
    for node in tree(PACKAGE / "__init__.py").body:
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        assert docstring or isinstance(node, ast.ImportFrom | ast.Import | ast.Assign)


@pytest.mark.parametrize("name", ["eval", "exec", "pickle", "marshal", "shelve", "dill"])
def test_package_executes_nothing_it_reads(name: str) -> None:
    for path in PACKAGE.rglob("*.py"):
        called = [node.func for node in ast.walk(tree(path)) if isinstance(node, ast.Call)]
        assert name not in {function.id for function in called if isinstance(function, ast.Name)}, path.name
        assert name not in {module.split(".")[0] for module in imports(path)}, path.name
