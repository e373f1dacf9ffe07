from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.model.equations import describe, equation_lines, term_table
from tinyude.model.kernel import KernelNetwork
from tinyude.model.model import Model
from tinyude.model.parts import MLP, Part, Terms
from tinyude.model.uncertainty import posterior_error
from tinyude.physics.programs import Emitter, program_numpy
from tinyude.reference.network.mlp import mlp_count
from tinyude.systems import pendulum
from tinyude.training.known import known_programs

NAMES = ("theta", "omega")
THETA, OMEGA, SLOPE = (sp.Symbol(name, real=True) for name in (*NAMES, "shape_1"))


def terms() -> Terms:
    coefficients = np.array([[0.3, 0.0, -0.5], [0.0, 0.0, 0.2]])
    return Terms((0, 1), NAMES, (THETA * OMEGA, OMEGA**2, sp.tanh(SLOPE * OMEGA)), coefficients, {"shape_1": 3.0})


def kernel(on: tuple[int, ...] = (0, 1)) -> KernelNetwork:
    rng = np.random.default_rng(0)
    count = len(on)
    inverse = np.tile([0.8, 0.9, 0.5], (count, 1))
    inverse[0, 1] = 0.0
    return KernelNetwork(
        on, (0, 1), (0,), np.array([0.1, 0.2, -0.3]), rng.normal(size=(count, 5, 3)), inverse,
        rng.normal(size=(count, 5)), rng.normal(size=(count, 4)),
    )  # fmt: skip


def mlp() -> MLP:
    rng = np.random.default_rng(0)
    weights = rng.normal(size=mlp_count((2, 4, 3, 2)))
    return MLP((0, 1), (0, 1), (4, 3), weights, np.array([1.0, 0.0]), np.array([2.0, 0.5]), np.array([3.0, 4.0]))


PARTS = [terms(), kernel(), mlp()]
ROWS = np.random.default_rng(0).normal(size=(7, 2))


def test_terms_evaluate_their_forms_at_the_shapes() -> None:
    theta, omega = ROWS.T
    first, second = 0.3 * theta * omega - 0.5 * np.tanh(3.0 * omega), 0.2 * np.tanh(3.0 * omega)
    np.testing.assert_allclose(terms().evaluate(ROWS), np.stack([first, second], axis=1), rtol=1e-13)


def test_kernel_evaluates_gaussian_units_and_a_line_of_its_features() -> None:
    """Row by row and unit by unit: sin and cos of the angle, then the rate, less their offset."""
    part = kernel()
    for row, found in zip(ROWS, part.evaluate(ROWS), strict=True):
        z = np.array([np.sin(row[0]), np.cos(row[0]), row[1]]) - part.offset
        for i in range(2):
            units = [w * np.exp(-0.5 * np.sum(((z - c) * part.inverse_lengths[i]) ** 2))
                     for w, c in zip(part.weights[i], part.centres[i], strict=True)]  # fmt: skip
            expected = sum(units) + part.linear[i, 0] + part.linear[i, 1:] @ z
            assert found[i] == pytest.approx(expected, rel=1e-12)


def test_mlp_evaluates_scaled_tanh_layers_where_it_is_active() -> None:
    part = mlp()
    w = np.split(part.weights, np.cumsum([8, 4, 12, 3, 6]))
    first = np.tanh(ROWS / [2.0, 0.5] @ w[0].reshape(4, 2).T + w[1])
    answer = np.tanh(first @ w[2].reshape(3, 4).T + w[3]) @ w[4].reshape(2, 3).T + w[5]
    np.testing.assert_allclose(part.evaluate(ROWS), answer * [3.0, 0.0], rtol=1e-12)


@pytest.mark.parametrize("part", PARTS, ids=["terms", "kernel", "mlp"])
def test_emit_computes_what_evaluate_does(part: Part) -> None:
    emitter = Emitter(2)
    program = emitter.finish(part.emit(emitter, [0, 1]))
    assert np.allclose(program_numpy(program, ROWS), part.evaluate(ROWS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("part", PARTS, ids=["terms", "kernel", "mlp"])
def test_emit_takes_unknowns_as_inputs(part: Part) -> None:
    count = len(part.unknowns)
    emitter = Emitter(2 + count)
    program = emitter.finish(part.emit(emitter, [0, 1], range(2, 2 + count)))
    moved = part.with_unknowns(1.1 * part.unknowns)
    rows = np.hstack([ROWS, np.tile(moved.unknowns, (len(ROWS), 1))])
    assert np.allclose(program_numpy(program, rows), moved.evaluate(ROWS), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("part", PARTS, ids=["terms", "kernel", "mlp"])
def test_jacobian_is_the_derivative_by_the_unknowns(part: Part) -> None:
    found = part.jacobian(ROWS)
    for k, step in enumerate(1e-6 * np.eye(len(part.unknowns))):
        high, low = (part.with_unknowns(part.unknowns + s * step).evaluate(ROWS) for s in (1.0, -1.0))
        assert np.allclose(found[..., k], (high - low) / 2e-6, atol=1e-7)


def test_known_programs_hold_a_frozen_kernel() -> None:
    physics, part = pendulum().physics, kernel((1,))
    programs = known_programs(physics, [], (1,), (part,))
    wanted = physics.field(ROWS) + np.pad(part.evaluate(ROWS), ((0, 0), (1, 0)))
    assert np.allclose(program_numpy(programs.field, ROWS), wanted, rtol=1e-12)
    step = np.array([0.0, 1e-6])
    slope = (part.evaluate(ROWS + step) - part.evaluate(ROWS - step))[:, 0] / 2e-6
    assert np.allclose(program_numpy(programs.jacobian, ROWS)[:, 3], slope, atol=1e-7)


def test_kernel_depends_on_what_has_a_length_or_a_slope() -> None:
    flat = kernel((1,))
    assert flat.depends_on(0) == (0, 1)
    only = replace(flat, inverse_lengths=np.array([[0.0, 0.0, 1.0]]), linear=np.zeros((1, 4)))
    assert only.depends_on(0) == (1,)


def model(**changes: object) -> Model:
    base = Model(
        pendulum().physics, on=(1,), sees=(0, 1), hidden=(), weights=np.zeros(0), network_on=np.zeros(1),
        x_scale=np.ones(2), u_scale=np.ones(0), dx_scale=np.ones(2), terms=(OMEGA, sp.tanh(3.0 * OMEGA)),
        coefficients=np.array([[-0.4, 0.2]]), errors=np.array([[0.01, 0.02]]), parameter_errors=np.zeros(0),
        forms=(OMEGA, sp.tanh(SLOPE * OMEGA)), shapes={"shape_1": 3.0}, kernel=kernel((1,)),
    )  # fmt: skip
    return replace(base, **changes)


def test_model_residual_is_the_sum_of_its_parts() -> None:
    found = model()
    total = sum(part.evaluate(ROWS) for part in found.parts)
    assert np.allclose(found.residual(ROWS)[:, [1]], total) and not found.residual(ROWS)[:, 0].any()
    moved = found.with_unknowns(2.0 * found.unknowns)
    assert np.allclose(moved.unknowns, 2.0 * found.unknowns)
    assert moved.terms[1] == sp.tanh(6.0 * OMEGA)


def test_posterior_error_follows_the_covariance(rng: np.random.Generator) -> None:
    found = model()
    size = len(found.unknowns)
    root = rng.normal(size=(size, size))
    covariance = 1e-6 * root @ root.T
    error = posterior_error(replace(found, covariance=covariance), ROWS, None)
    moved = [[found.with_unknowns(found.unknowns + s * step).residual(ROWS) for s in (1.0, -1.0)]
             for step in 1e-5 * np.eye(size)]  # fmt: skip
    slopes = np.stack([(high - low) / 2e-5 for high, low in moved], axis=-1)
    assert np.allclose(error, np.linalg.norm(slopes @ (1e-3 * root), axis=-1), rtol=1e-6)


def test_posterior_error_is_not_lost_in_rounding() -> None:
    """Two wide units side by side: of their weights only the sum is known, and rounding may leave less than nothing."""
    wide = replace(kernel((1,)), inverse_lengths=np.full((1, 3), 1e-4))
    found = model(kernel=wide)
    first = len(found.unknowns) - len(wide.unknowns)
    covariance = np.zeros((len(found.unknowns),) * 2)
    covariance[first : first + 2, first : first + 2] = 1e12 * np.array([[1.0, -1.0], [-1.0, 1.0]])
    covariance[first, first] -= 1e-1
    slopes = found.residual_jacobian(ROWS)[:, 1]
    assert np.einsum("nk,kl,nl->n", slopes, covariance, slopes).min() < 0.0
    assert posterior_error(replace(found, covariance=covariance), ROWS, None)[:, 1].min() > 0.0


def test_model_counts_other_parameters_as_learned_and_back(rng: np.random.Generator) -> None:
    values = {"k": tu.Parameter(9.0, learn=True), "c": tu.Parameter(0.3, learn=True)}
    physics = tu.Physics(NAMES, ["omega", "-k*sin(theta) - c*omega"], parameters=values)
    found = model(physics=physics, parameter_errors=np.array([0.1, 0.2]))
    root = rng.normal(size=(len(found.unknowns),) * 2)
    found = replace(found, covariance=root @ root.T)
    fewer = found.with_learned(["c"])
    assert np.array_equal(fewer.unknowns, found.unknowns[1:]) and fewer.parameter_errors.tolist() == [0.2]
    assert np.array_equal(fewer.covariance, found.covariance[1:, 1:])
    back = fewer.with_learned(["k", "c"])
    assert np.array_equal(back.unknowns, found.unknowns) and back.parameter_errors.tolist() == [0.0, 0.2]
    assert np.array_equal(back.covariance[1:, 1:], fewer.covariance) and not back.covariance[0].any()
    assert found.with_learned(["k", "c"]) is found


def test_equations_name_a_curve_and_its_states() -> None:
    figures = {"terms": [], "network": {"omega": 0.5}, "parameters": [], "warnings": []}
    assert equation_lines(model(), figures)[1].endswith("+ curve(theta, omega)")
    assert "a smooth curve of theta, omega accounts for 50 % of it" in describe(model(), figures)


def test_model_file_keeps_kernel_shapes_and_covariance(tmp_path: Path) -> None:
    system = pendulum()
    _, samples = system.stream(seed=0, seconds=5.0)
    ude = tu.UDE(system.physics, (), library=["omega", "tanh(3.0*omega)"]).fit(samples, t=1e-3)
    found = model()
    ude.model_ = replace(found, covariance=np.eye(len(found.unknowns)))
    ude.diagnostics_["terms"] = term_table(ude.model_, ude.config_.groups)
    ude.save(tmp_path / "kernel.tinyude")
    loaded = tu.load(tmp_path / "kernel.tinyude").model_
    assert np.array_equal(loaded.residual(ROWS), found.residual(ROWS))
    assert loaded.shapes == {"shape_1": 3.0} and loaded.forms == found.forms
    assert np.array_equal(loaded.covariance, np.eye(len(found.unknowns)))
