"""reference/ mirrors core/src folder by folder, file by file, function by function: C `tu_ring_push` is `ring_push`."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
CORE, REFERENCE = ROOT / "core" / "src", ROOT / "src" / "tinyude" / "reference"
PUBLIC = ROOT / "core" / "include" / "tinyude.h"
LEARNER_FILES = ("learner", "acceptance", "calibration", "training", "start", "view", "state")  # of tu_learner_*
# Sources beyond the one that has a header's name: the twin of their functions is in the header's module.
FURTHER_SOURCES = {
    "regression/library_solve.c": "regression/library.h",
    "regression/targets_solve.c": "regression/targets.h",
    "signal/window_fit.c": "signal/window.h",
    "signal/window_make.c": "signal/window.h",
    "network/dense_gradient.c": "network/dense.h",
}

# C functions without a namesake, by what their names contain, and why.
NO_TWIN = {
    r"_carve$|_bytes$|_memory$|_scratch$|_work$|_work_carve$": "memory of the arena; NumPy allocates",
    r"^tu_config_(check|net|physics_nodes|fused)$": "ranges and sizes of fixed memory; Config has `sizes`",
    r"^tu_ring_(slot|at|last)$": "slots of the ring; `ring_row` and `ring_window` index it",
    r"^tu_reservoir_(gather|spread|add)$": "columns of entries; NumPy indexes them",
    r"^tu_mlp_(block|offset|pad|weights|transposed|run|widest)$": "layout of a block, or one sample without",
    r"^tu_nodes_(basis|ticks)$|^tu_loss_columns$|^tu_library_(column|dot)$": "index arithmetic; NumPy has whole arrays",
    r"^tu_learner_(advance|cost)$|_slice$|_begin$|^tu_calibrate_candidate$": "slices, for a board's main loop",
    r"^tu_learner_fits$|^tu_median_gate_in_order$": "what a board is given may be anything",
    r"^tu_count$": "integers of Python do not overflow",
    r"^tu_any$": "NumPy has it",
    r"^tu_statistics_add$|^tu_calibrate_clear$": "running form of what the twin computes at once, or makes anew",
}
# Headers without a module, and why.
NO_MODULE = {
    "numeric/arena.h": "memory of the arena",
    "numeric/real.h": "number type and compiler",
    "numeric/finite.h": "`usable` is in signal/ring.py, the rest is NumPy's",
    "numeric/cholesky.h": "NumPy's linear algebra",
    "signal/legendre.h": "recurrence and tables; NumPy's Legendre polynomials",
    "network/network_part.h": "tables of functions, so that a linker can leave out what is not used",
    "paper/paper_part.h": "the same",
    "network/dense.h": "register tiles; NumPy's matrix product",
    "regression/library_sums.h": "packing of symmetric sums; whole matrices here",
}
# Public functions of the reference without a namesake in C, by what their names contain, and why.
NO_C = {
    r"^(config_error|gates_limits|savgol_rows|mlp_layers)$": "for the host: messages, other estimators",
    r"^holdout_(gain|better)$|^last_good_network$|^design_rows$|^scaled_row$|^calibrate_scatter$": "static in C",
    r"^noise_(sigma|step)$|^ring_(row|window)$|^antiderivative$": "arrays, of which C reads elements",
}
NUMPY_HAS = "numeric/elementary.h"  # all but what its twin defines


def headers() -> list[str]:
    paths = (path.relative_to(CORE) for path in CORE.rglob("*.h"))
    return sorted(path.as_posix() for path in paths if path.parts[0] != "service")


def declared(header: Path) -> list[str]:
    """Names of the functions that a header declares or defines."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", header.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^[A-Za-z_][\w \*]*?\b(tu_\w+)\(", text, flags=re.MULTILINE)


def implemented(source: Path) -> list[str]:
    """Names of the functions that a C source defines for others."""
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", source.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"^(?!static)[A-Za-z_][\w \*]*?\b(tu_\w+)\([^;{]*\)\s*\{", text, flags=re.MULTILINE)


def sources() -> list[str]:
    paths = (path.relative_to(CORE) for path in CORE.rglob("*.c"))
    return sorted(path.as_posix() for path in paths if path.parts[0] != "service")


def defined(module: Path) -> set[str]:
    """Functions of a module, and for each of its classes `<class>_<method>`."""
    names = set()
    for node in ast.parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names |= {f"{node.name.lower()}_{part.name}" for part in node.body if isinstance(part, ast.FunctionDef)}
    return names


def needs_twin(name: str) -> bool:
    return not any(re.search(pattern, name) for pattern in NO_TWIN)


@pytest.mark.parametrize("header", headers())
def test_twin_every_function_of_a_header_has_its_namesake(header: str) -> None:
    module = (REFERENCE / header).with_suffix(".py")
    if header in NO_MODULE:
        assert not module.exists()
        return
    names = defined(module)
    if header == "state.h":
        names |= set().union(*(defined(REFERENCE / f"{file}.py") for file in LEARNER_FILES))
    missing = [name for name in declared(CORE / header) if needs_twin(name) and name.removeprefix("tu_") not in names]
    if header == NUMPY_HAS:
        assert names == {"angle_wrap"} and "tu_angle_wrap" not in missing
        return
    assert not missing


@pytest.mark.parametrize("source", sources())
def test_twin_of_a_function_is_in_the_file_of_the_same_name(source: str) -> None:
    header = FURTHER_SOURCES.get(source, source.removesuffix(".c") + ".h")
    if header in (*NO_MODULE, NUMPY_HAS):
        return
    names = defined((REFERENCE / header).with_suffix(".py"))
    wanted = [name for name in implemented(CORE / source) if needs_twin(name)]
    assert not [name for name in wanted if name.removeprefix("tu_") not in names]


def test_twin_every_operation_of_a_learner_has_its_namesake() -> None:
    names = set().union(*(defined(REFERENCE / f"{file}.py") for file in LEARNER_FILES))
    operations = [name for name in declared(PUBLIC) if name.startswith("tu_learner_")]
    assert len(operations) > 10
    assert not [name for name in operations if needs_twin(name) and name.removeprefix("tu_") not in names]


def test_twin_every_module_has_its_file_in_the_core() -> None:
    modules = {path.relative_to(REFERENCE).with_suffix("") for path in REFERENCE.rglob("*.py")}
    files = {path.relative_to(CORE).with_suffix("") for path in CORE.rglob("*.[ch]")}
    assert {path.as_posix() for path in modules - files if path.name != "__init__"} == set()


def test_twin_every_function_of_a_module_has_its_namesake_in_the_core() -> None:
    """Also in slices, and under `carve` for the `init` of a state: there it takes its memory from the arena."""
    files = [PUBLIC, *CORE.rglob("*.[ch]")]
    there = set(re.findall(r"\btu_(\w+)\(", "".join(path.read_text(encoding="utf-8") for path in files)))
    there |= {name.removesuffix(end) for name in there for end in ("_slice", "_begin")}
    there |= {f"{name.removesuffix('_carve')}_init" for name in there if name.endswith("_carve")}
    modules = (ast.parse(path.read_text(encoding="utf-8")) for path in REFERENCE.rglob("*.py"))
    public = [node.name for module in modules for node in module.body if isinstance(node, ast.FunctionDef)]
    public = [name for name in public if not name.startswith("_")]
    assert len(public) > 100
    assert not [name for name in public if name not in there and not any(re.search(p, name) for p in NO_C)]
    for pattern in NO_C:
        assert any(re.search(pattern, name) for name in public), pattern


def test_twin_exceptions_are_used() -> None:
    every = [name for header in headers() for name in declared(CORE / header)] + declared(PUBLIC)
    for pattern in NO_TWIN:
        assert any(re.search(pattern, name) for name in every), pattern
    assert set(NO_MODULE) <= set(headers())
    assert set(FURTHER_SOURCES) <= set(sources()) and set(FURTHER_SOURCES.values()) <= set(headers())
    assert sum(len(implemented(CORE / source)) for source in sources()) > 100  # the pattern finds them


def test_core_has_at_most_sixteen_entries() -> None:
    assert len([path for path in CORE.iterdir() if not path.name.startswith(".")]) <= 16


def test_core_lines_have_at_most_120_characters() -> None:
    for path in (*CORE.rglob("*.[ch]"), PUBLIC):
        assert max(map(len, path.read_text(encoding="utf-8").splitlines())) <= 120, path
