import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.export.codegen import c_source
from tinyude.export.codegen.c_source import API_VERSION
from tinyude.native.tape import OPERATIONS, tape_arrays
from tinyude.physics import Physics
from tinyude.physics.programs import BINARY, program
from tinyude.systems import double_pendulum, pendulum
from tinyude.training.known import KnownPrograms, known_programs

CORE = Path(__file__).parents[3] / "core"
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion", "-Wvla", "-Werror"]
STRICT = ["-std=c99", "-ffp-contract=off", *WARNINGS]
x, y = SYMBOLS = sp.symbols("x y")

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")


def decay(rate: float = 0.1) -> KnownPrograms:
    nothing = program([], SYMBOLS)
    field, jacobian = program([-rate * x, y], SYMBOLS), program([-rate, 0, 0, 1], SYMBOLS)
    return KnownPrograms(field, jacobian, nothing, nothing, nothing)


def check_syntax(source: str, folder: Path, *options: str, header: Path = CORE / "include") -> str:
    """What a strict compiler has to say."""
    file = folder / "known.c"
    file.write_text(source)
    command = [
        "cc",
        *STRICT,
        *options,
        "-fsyntax-only",
        f"-I{header}",
        f"-I{CORE / 'src'}",
        f"-I{CORE / 'src' / 'numeric'}",
        str(file),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr


def test_c_source_writes_one_statement_an_instruction() -> None:
    text = c_source(decay(), "decay")
    assert "    const tu_real t0 = KNOWN(-0.100000001, -0.10000000000000001) * x[0];\n    dx[0] = t0;\n" in text
    assert "    decay_field,\n    decay_jacobian,\n" + 7 * "    NULL,\n" + "};" in text


def test_c_source_is_deterministic() -> None:
    system = double_pendulum().physics
    first, second = (c_source(known_programs(system, [], (2, 3)), "double") for _ in range(2))
    assert first == second


def test_c_source_has_no_bare_double_literal() -> None:
    text = c_source(known_programs(pendulum().physics, [], (1,)), "pendulum")
    arithmetic = [line for line in text.splitlines() if line.startswith("    const")]
    assert arithmetic
    for line in arithmetic:
        outside = "".join(part.split(")", 1)[-1] if i else part for i, part in enumerate(line.split("KNOWN(")))
        assert "." not in outside


@needs_compiler
@pytest.mark.parametrize("precision", [(), ("-DTU_REAL_DOUBLE",)], ids=["float", "double"])
@pytest.mark.parametrize("system", [pendulum, double_pendulum], ids=lambda f: f.__name__)
def test_c_source_compiles_under_strict_flags(system, precision, tmp_path: Path) -> None:
    physics = system().physics
    omega = sp.Symbol(physics.states[-1], real=True)
    terms = [sp.Integer(1), omega, omega * sp.Abs(omega), sp.tanh(omega), sp.sign(omega)]
    programs = known_programs(physics, terms, (physics.n_states - 1,))
    assert check_syntax(c_source(programs, system.__name__), tmp_path, *precision) == ""


@needs_compiler
@pytest.mark.parametrize("precision", [(), ("-DTU_REAL_DOUBLE",)], ids=["float", "double"])
def test_c_source_of_pieces_compiles_under_strict_flags(precision: tuple[str, ...], tmp_path: Path) -> None:
    physics = Physics(["x"], ["Piecewise((-x, x < -1), (x**2, (x < 1) & (u >= 0)), (5, True))"], inputs=["u"])
    assert check_syntax(c_source(known_programs(physics, [], (0,)), "stop"), tmp_path, *precision) == ""


@needs_compiler
def test_c_source_rejects_another_version_of_the_header(tmp_path: Path) -> None:
    header = (CORE / "include" / "tinyude.h").read_text()
    (tmp_path / "tinyude.h").write_text(
        header.replace(f"#define TU_API_VERSION {API_VERSION} ", "#define TU_API_VERSION 1 ")
    )
    message = check_syntax(c_source(decay(), "decay"), tmp_path, header=tmp_path)
    assert "#error" in message
    assert "generate this file again" in message


@pytest.mark.parametrize("prefix", ["", "2nd", "a-b", "x; int y"])
def test_c_source_rejects_a_prefix_that_is_no_name(prefix: str) -> None:
    with pytest.raises(TinyUDEError, match="prefix"):
        c_source(decay(), prefix)


def test_c_source_rejects_a_constant_beyond_float() -> None:
    with pytest.raises(TinyUDEError, match=r"1e\+39 .* rescale"):
        c_source(decay(-1e39), "decay")


def test_tape_arrays_number_operations_and_registers() -> None:
    code, constants, outputs = tape_arrays(program([sp.sin(x) * 3 - y], SYMBOLS), np.float32)
    assert [OPERATIONS[op] for op in code[:, 0]] == ["sin", "mul", "sub"]
    assert constants.dtype == np.float32
    assert constants.tolist() == [3.0]
    assert outputs.tolist() == [2 + 1 + 2]


def test_tape_arrays_of_an_empty_program_keep_their_shape() -> None:
    code, constants, outputs = tape_arrays(program([], SYMBOLS))
    assert (code.shape, constants.shape, outputs.shape) == ((0, 3), (0,), (0,))


def test_operations_begin_with_the_binary_ones() -> None:
    assert OPERATIONS[: len(BINARY)] == tuple(BINARY)
