"""The tools people use next compute what predict computes: SymPy, CasADi, python-control, JAX, FMI."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.data.extras import needed
from tinyude.errors import TinyUDEError
from tinyude.export import fmu
from tinyude.export.casadi_model import to_casadi
from tinyude.export.control_model import to_control
from tinyude.export.fmu import fmu_files, write_fmu
from tinyude.export.jax_model import to_jax
from tinyude.export.sympy_model import to_sympy
from tinyude.model.kernel import KernelNetwork
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.programs import program_numpy
from tinyude.reference.network.mlp import mlp_count

RNG = np.random.default_rng(3)
THETA, OMEGA, TAU = (sp.Symbol(name, real=True) for name in ("theta", "omega", "tau"))
X = RNG.normal(size=(40, 2)) * [5.0, 2.0]  # angles beyond half a revolution
U = RNG.normal(size=(40, 1))


def whole_model(inputs: bool = True, hidden: tuple[int, ...] = (5, 4)) -> Model:
    """Everything at once: a learned parameter, terms, kernel network, perceptron, an angle that wraps, an input."""
    rng = np.random.default_rng(3)
    torque = " + tau/J" if inputs else ""
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-(g/L)*sin(theta)" + torque], ["tau"] if inputs else [],
        {"g": 9.81, "L": tu.Parameter(0.7, learn=True), "J": 0.3},
    )  # fmt: skip
    sees = (0, 1, 2) if inputs else (0, 1)
    features = len(sees) + 1
    kernel = KernelNetwork(
        (1,), sees, (0,), rng.normal(size=features), rng.normal(size=(1, 6, features)), np.full((1, features), 0.7),
        rng.normal(size=(1, 6)), rng.normal(size=(1, features + 1)),
    )  # fmt: skip
    return Model(
        physics=physics, on=(1,), sees=sees, hidden=hidden, weights=rng.normal(size=mlp_count((len(sees), *hidden, 1))),
        network_on=np.ones(1), x_scale=np.array([1.2, 2.5]), u_scale=np.array([0.8] if inputs else []),
        dx_scale=np.array([2.0, 3.0]), terms=(sp.tanh(4.0 * OMEGA), OMEGA * sp.Abs(OMEGA), sp.sin(THETA), THETA),
        coefficients=np.array([[-0.3, -0.2, 0.1, 0.05]]), errors=np.zeros((1, 4)), parameter_errors=np.zeros(1),
        angles=(0,), kernel=kernel,
    )  # fmt: skip


MODEL = whole_model()


def by_sympy(model: Model) -> np.ndarray:
    field = sp.lambdify([THETA, OMEGA, TAU], list(to_sympy(model).values()), "numpy")
    return np.array(field(*X.T, U[:, 0])).T


def by_casadi(model: Model) -> np.ndarray:
    pytest.importorskip("casadi", reason="needs casadi: pip install tinyude[casadi]")
    return np.asarray(to_casadi(model)(X.T, U.T)).T


def by_control(model: Model) -> np.ndarray:
    pytest.importorskip("control", reason="needs python-control: pip install tinyude[control]")
    system = to_control(model)
    return np.array([system.dynamics(0.0, x, u) for x, u in zip(X, U, strict=True)])


def by_jax(model: Model) -> np.ndarray:
    jax = pytest.importorskip("jax", reason="needs jax: pip install tinyude[jax]")
    with jax.enable_x64(True):
        return np.asarray(jax.jit(to_jax(model).field)(X, U))


@pytest.mark.parametrize("by", [by_sympy, by_casadi, by_control, by_jax])
def test_tool_computes_what_predict_does(by: Callable[[Model], np.ndarray]) -> None:
    expected = MODEL.field(X, U)
    assert np.max(np.abs(by(MODEL) - expected) / (1.0 + np.abs(expected))) < 1e-12


def test_model_program_takes_unknowns_as_inputs() -> None:
    moved = MODEL.with_unknowns(1.1 * MODEL.unknowns)
    rows = np.hstack([X, U, np.tile(moved.unknowns, (len(X), 1))])
    assert np.allclose(program_numpy(model_program(MODEL, unknowns=True), rows), moved.field(X, U), rtol=1e-12)


def test_to_sympy_reads_as_the_equations_do(fitted: tu.UDE) -> None:
    field = fitted.to_sympy()
    assert field["theta"] == OMEGA
    assert field["omega"].coeff(OMEGA) == pytest.approx(-0.4, abs=0.02)
    waves = MODEL.physics.states[0]
    kept = to_sympy(MODEL)["omega"].atoms(sp.sin)
    assert sp.sin(sp.Symbol(waves, real=True)) in kept  # not the sine of a wrapped angle


def test_to_control_linearises_exactly() -> None:
    pytest.importorskip("control", reason="needs python-control: pip install tinyude[control]")
    at, u = np.array([0.3, -0.2]), np.array([0.1])
    system = to_control(MODEL, at, u)
    step = 1e-6
    for k, column in enumerate(np.eye(3)):
        high, low = (MODEL.field(at + s * column[:2], u + s * column[2:]) for s in (step, -step))
        found = np.hstack([system.A, system.B])[:, k]
        assert np.allclose(found, (high - low) / (2.0 * step), atol=1e-7)
    with pytest.raises(TinyUDEError, match="give 2 finite numbers"):
        to_control(MODEL, [1.0])


def test_to_jax_gives_gradients_by_what_was_learned() -> None:
    jax = pytest.importorskip("jax", reason="needs jax: pip install tinyude[jax]")
    with jax.enable_x64(True):
        exported = to_jax(MODEL)
        slope = jax.jit(jax.grad(lambda unknowns: exported(X, U, unknowns)[:, 1].sum()))(exported.unknowns)
        assert jax.eval_shape(exported.field, X[0], U[0]).shape == (2,)
    learned = len(MODEL.physics.learned)
    expected = MODEL.residual_jacobian(X, U)[:, 1, learned:].sum(axis=0)
    assert np.allclose(np.asarray(slope)[learned:], expected, rtol=1e-9)


def test_to_jax_compiles_a_large_network() -> None:
    jax = pytest.importorskip("jax", reason="needs jax: pip install tinyude[jax]")
    model = whole_model(hidden=(12, 9))
    assert len(model.unknowns) > 100
    with jax.enable_x64(True):
        found = jax.jit(to_jax(model).field)(X, U)
    assert np.allclose(found, model.field(X, U), rtol=1e-11)


def test_needed_says_how_to_install() -> None:
    with pytest.raises(TinyUDEError, match=r"pip install 'tinyude\[casadi\]'"):
        needed("a_module_that_nobody_has", "casadi")


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not (shutil.which("cc") or shutil.which("gcc")):
        pytest.skip("needs a C compiler")
    path = tmp_path_factory.mktemp("fmu") / "rig.fmu"
    assert write_fmu(MODEL, path, "rig")
    return path


def test_fmu_is_valid(exported: Path) -> None:
    validation = pytest.importorskip("fmpy.validation", reason="needs fmpy: pip install fmpy")
    assert validation.validate_fmu(str(exported)) == []


def test_fmu_derivatives_are_what_predict_computes(exported: Path) -> None:
    with unpacked(exported, "ModelExchange") as model:
        for x, u in zip(X, U, strict=True):
            model.setFloat64([1, 2, 5], [*x, *u])
            expected = MODEL.field(x, u)
            assert np.max(np.abs(model.getFloat64([3, 4]) - expected) / (1.0 + np.abs(expected))) < 1e-12


def test_fmu_directional_derivatives_are_exact(exported: Path) -> None:
    with unpacked(exported, "ModelExchange") as model:
        model.setFloat64([1, 2, 5], [0.3, -0.2, 0.1])
        found = model.getDirectionalDerivative([4], [1, 2, 5], [0.0, 1.0, 0.0])
        at, step = np.array([0.3, -0.2]), np.array([0.0, 1e-6])
        high, low = (MODEL.field(at + s * step, np.array([0.1]))[1] for s in (1.0, -1.0))
        assert found[0] == pytest.approx((high - low) / 2e-6, abs=1e-7)


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_fmu_simulates_as_the_model_does(kind: str, exported: Path, fitted: tu.UDE, tmp_path: Path) -> None:
    fmpy = pytest.importorskip("fmpy", reason="needs fmpy: pip install fmpy")
    path = tmp_path / "pendulum.fmu"
    write_fmu(fitted.model_, path, "pendulum")
    run = fmpy.simulate_fmu(
        str(path), fmi_type=kind, start_values={"theta": 1.0}, stop_time=3.0, output_interval=0.05,
        relative_tolerance=1e-9,
    )  # fmt: skip
    states = fitted.simulate([1.0, 0.0], run["time"])
    assert np.allclose(run["theta"], states[:, 0], atol=1e-6)
    assert np.allclose(run["omega"], states[:, 1], atol=1e-6)


@pytest.mark.parametrize("kind", ["CoSimulation", "ModelExchange"])
def test_fmu_follows_its_input(kind: str, exported: Path) -> None:
    """A torque that steps: the event is a stamp that is there twice."""
    fmpy = pytest.importorskip("fmpy", reason="needs fmpy: pip install fmpy")
    torque = np.array([(0.0, 0.5), (0.2, 0.5), (0.2, -0.7), (0.4, -0.7)], dtype=[("time", "f8"), ("tau", "f8")])
    run = fmpy.simulate_fmu(
        str(exported), fmi_type=kind, start_values={"theta": 0.4}, input=torque, stop_time=0.4, output_interval=0.02,
        relative_tolerance=1e-9, record_events=False,
    )  # fmt: skip
    state = np.array([0.4, 0.0])
    for begin, tau in ((0.0, 0.5), (0.2, -0.7)):
        span = (begin, begin + 0.2)
        state = solve_ivp(lambda _, x, u=tau: MODEL.field(x, np.array([u])), span, state, rtol=1e-10, atol=1e-10).y[
            :, -1
        ]
    assert np.allclose([run["theta"][-1], run["omega"][-1]], state, atol=1e-6)


def test_write_fmu_is_the_same_every_time_and_whole_without_a_compiler(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert fmu_files(MODEL, "rig") == fmu_files(MODEL, "rig")
    monkeypatch.setattr(fmu.shutil, "which", lambda name: None)
    assert not write_fmu(whole_model(inputs=False), tmp_path / "rig.fmu", "rig")
    with zipfile.ZipFile(tmp_path / "rig.fmu") as archive:
        names = archive.namelist()
    assert names[0] == "modelDescription.xml"
    assert "sources/buildDescription.xml" in names
    assert not any(name.startswith("binaries") for name in names)


class unpacked:
    """An FMU instance in initialisation mode, freed at the end."""

    def __init__(self, path: Path, kind: str) -> None:
        fmpy = pytest.importorskip("fmpy", reason="needs fmpy: pip install fmpy")
        self.folder = fmpy.extract(str(path))
        self.model = fmpy.instantiate_fmu(self.folder, fmpy.read_model_description(str(path)), kind)

    def __enter__(self) -> Any:
        self.model.enterInitializationMode()
        return self.model

    def __exit__(self, *_: object) -> None:
        self.model.freeInstance()
        shutil.rmtree(self.folder, ignore_errors=True)
