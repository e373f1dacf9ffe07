"""Tape, generated C and NumPy: one program, three ways to run it."""

import ctypes
import importlib
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.export.codegen import c_source
from tinyude.native.tape import OPERATIONS
from tinyude.physics import Parameter, Physics
from tinyude.physics.programs import program, program_numpy
from tinyude.systems import double_pendulum, pendulum
from tinyude.training.known import KnownPrograms, known_programs

CORE = Path(__file__).parents[2] / "core"
FUNCTIONS = [entry.name for entry in fields(KnownPrograms)]
POINTER = ctypes.c_void_p

pytestmark = pytest.mark.skipif(not native.available(), reason="the core is not compiled")


class Known(ctypes.Structure):
    """`tu_known`."""

    _fields_ = [*((name, ctypes.CFUNCTYPE(None, *[POINTER] * 4)) for name in FUNCTIONS), ("context", POINTER)]


def motor() -> Physics:
    """A driven DC motor with two parameters to learn."""
    constants = {"L": 0.011, "k": 0.053, "b": 1.7e-4}
    learned = {"R": Parameter(1.31, learn=True), "J": Parameter(2.3e-4, learn=True)}
    rhs = ["(V - R*i - k*w)/L", "(k*i - b*w - 0.01*tanh(w/0.3))/J"]
    return Physics(["i", "w"], rhs, ["V"], constants | learned)


def with_terms(physics: Physics, on: tuple[int, ...]) -> KnownPrograms:
    """A library that uses what the physics may not: sign, abs, powers, roots."""
    first, last = (sp.Symbol(physics.states[k], real=True) for k in (0, -1))
    terms = [sp.Integer(1), last, last * sp.Abs(last), sp.sign(last), last**3, sp.sin(first), sp.sqrt(1 + last**2)]
    return known_programs(physics, terms, on)


def every_operation() -> KnownPrograms:
    x, y, z = symbols = sp.symbols("x y z", real=True)
    exprs = [
        -x, sp.sqrt(z), sp.sin(x) / y, sp.cos(x), sp.tan(y), sp.exp(y), sp.log(z), sp.tanh(x), sp.atan(x),
        sp.asin(y / 3), sp.acos(y / 3), sp.sinh(x), sp.cosh(x), sp.Abs(x), sp.sign(x), z**0.3, x - 0.1 * y + z,
    ]  # fmt: skip
    nothing = program([], symbols)
    return KnownPrograms(program([x * y, y * z, z], symbols), nothing, program(exprs, symbols), nothing, nothing)


SYSTEMS = {
    "pendulum": with_terms(pendulum("B").physics, (1,)),
    "double_pendulum": with_terms(double_pendulum("B").physics, (2, 3)),
    "motor": with_terms(motor(), (0, 1)),
    "every_operation": every_operation(),
}


def samples(programs: KnownPrograms, dtype: str, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Rows of states and inputs of ordinary size; the last state positive, for its logarithm."""
    rng = np.random.default_rng(3)
    states = len(programs.field.outputs)
    x, u = rng.uniform(-2.9, 2.9, (rows, states)), rng.normal(0.0, 5.0, (rows, programs.field.n_inputs - states))
    x[:, -1] = np.abs(x[:, -1]) + 0.01
    return x.astype(dtype), u.astype(dtype)


def test_operations_have_the_numbers_of_the_header() -> None:
    lib = importlib.import_module("tinyude.native._core64").lib
    assert [getattr(lib, f"TU_{name.upper()}") for name in OPERATIONS] == list(range(lib.TU_OPERATIONS))


def test_every_operation_is_in_the_test() -> None:
    used = {op for programs in SYSTEMS.values() for name in FUNCTIONS for op, _, _ in getattr(programs, name).code}
    assert used == set(OPERATIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_tape_float64_equals_numpy(system: str, name: str) -> None:
    programs = SYSTEMS[system]
    x, u = samples(programs, "float64")
    expected = program_numpy(getattr(programs, name), np.hstack([x, u]))
    got = native.NativeKnown(programs, "float64").evaluate(name, x, u)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_tape_float32_is_near_numpy(system: str, name: str) -> None:
    programs = SYSTEMS[system]
    x, u = samples(programs, "float32")
    expected = program_numpy(getattr(programs, name), np.hstack([x, u]).astype(np.float64))
    got = native.NativeKnown(programs, "float32").evaluate(name, x, u)
    scale = np.abs(expected).max(axis=0, initial=1.0)
    assert np.all(np.abs(got - expected) <= 3e-6 * scale)


@pytest.fixture(scope="module", params=["float32", "float64"])
def precision(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def generated(precision: str, tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The C of all systems, compiled into one library."""
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("generated")
    for system, programs in SYSTEMS.items():
        (folder / f"{system}.c").write_text(c_source(programs, system))
    folders = [CORE / "include", CORE / "src", CORE / "src" / "numeric"]
    flags = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fPIC", *(f"-I{path}" for path in folders)]
    define = ["-DTU_REAL_DOUBLE"] if precision == "float64" else []
    sources = [*map(str, folder.glob("*.c")), str(CORE / "src" / "numeric" / "elementary.c")]
    subprocess.run(["cc", *flags, *define, *sources, "-lm", "-o", str(folder / "known.so")], check=True)
    return ctypes.CDLL(str(folder / "known.so"))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_tape_equals_generated_c_to_the_bit(generated: ctypes.CDLL, precision: str, system: str, name: str) -> None:
    programs = SYSTEMS[system]
    x, u = samples(programs, precision)
    tape = native.NativeKnown(programs, precision).evaluate(name, x, u)
    function = getattr(Known.in_dll(generated, f"{system}_known"), name)
    if not getattr(programs, name).outputs:
        assert not function
        return
    compiled = np.full_like(tape, np.nan)
    for row in range(len(x)):
        function(None, x[row].ctypes.data, u[row].ctypes.data, compiled[row].ctypes.data)
    assert tape.tobytes() == compiled.tobytes()
    assert np.all(np.isfinite(tape))


def test_known_rejects_programs_of_another_system() -> None:
    ours, other = SYSTEMS["pendulum"], SYSTEMS["motor"]
    with pytest.raises(TinyUDEError, match="terms program has 3 inputs; it must have 2"):
        native.NativeKnown(KnownPrograms(ours.field, ours.jacobian, other.terms, ours.sensitivity, ours.outside))


def test_evaluate_rejects_missing_inputs() -> None:
    known = native.NativeKnown(SYSTEMS["motor"])
    with pytest.raises(TinyUDEError, match="u has shape"):
        known.evaluate("field", np.zeros((4, 2)))
