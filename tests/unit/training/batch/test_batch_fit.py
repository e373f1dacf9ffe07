import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.data.streams import as_stream
from tinyude.experiments.studies.zoo import plant_named
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics import Parameter, Physics
from tinyude.systems import pendulum
from tinyude.systems.zoo import Plant
from tinyude.training.batch.covariance import NoiseRows, Whitener, band_covariance, noise_rows, noise_variance
from tinyude.training.batch.evidence import posterior
from tinyude.training.batch.fit import BatchResult, batch_fit
from tinyude.training.batch.kernel_fit import _missing, _Search, make_inputs, wide_covariance
from tinyude.training.batch.library import Factor, Offer, evaluate, expression, rich_library
from tinyude.training.batch.problem import Problem, make_blocks
from tinyude.training.batch.regression import BatchOptions
from tinyude.training.batch.samples import repaired, sensor_noise
from tinyude.training.batch.selection import grow, make_gram, select, small_sets
from tinyude.training.batch.targets import Layout, make_targets
from tinyude.training.batch.units import NumpyUnits, make_units
from tinyude.training.batch.windows import half_widths, local_windows


def fit(physics: Physics, samples: np.ndarray, period: float = 1e-3, **options: object) -> BatchResult:
    names = options.get("measured", physics.states)
    stream = as_stream(samples, period, None, list(names), ())
    return batch_fit(physics, stream, BatchOptions(**options))


def test_sensor_noise_is_found_in_fast_motion(rng: np.random.Generator) -> None:
    t = np.arange(4000) * 1e-3
    clean = np.stack([np.sin(2.0 * t), 3.0 * np.cos(40.0 * t)], axis=1)
    noise = sensor_noise([clean + [0.01, 0.05] * rng.standard_normal(clean.shape)])
    assert np.allclose(noise.sigma, [0.01, 0.05], rtol=0.1)


@pytest.mark.parametrize(("size", "replaced"), [(6.9, 0), (7.1, 1), (-7.1, 1)])
def test_repaired_replaces_a_sample_seven_standard_deviations_away(size: float, replaced: int) -> None:
    samples = np.zeros((40, 1))
    samples[20] = 0.3 * size
    rows, _, outliers = repaired(samples, np.array([0.3]))
    assert outliers == replaced and rows[20, 0] == (0.0 if replaced else samples[20, 0])


def test_repaired_replaces_an_outlier_and_leaves_a_level_shift(rng: np.random.Generator) -> None:
    samples = 0.01 * rng.standard_normal((200, 1))
    samples[100:] += 1.0
    samples[50] = np.nan
    samples[150] += 3.0
    rows, filled, outliers = repaired(samples, np.array([0.01]))
    assert (filled, outliers) == (1, 1)
    assert np.array_equal(rows[95:105], samples[95:105])
    assert abs(rows[50, 0]) < 0.05 and abs(rows[150, 0] - 1.0) < 0.05


def test_half_widths_follow_the_run() -> None:
    assert half_widths(64)[0] == 14 and half_widths(10**6)[0] == 452 and half_widths(64)[-1] == 3
    assert half_widths(1000, 30)[0] == 28 and half_widths(1000, 1) == [3]  # as long as was asked for, or the shortest


def test_local_windows_are_short_where_the_motion_is_fast(rng: np.random.Generator) -> None:
    t = np.arange(4000) * 1e-3
    clean = np.sin(2.0 * t) + 0.3 * np.exp(-(((t - 2.0) / 0.02) ** 2))
    samples = (clean + 1e-3 * rng.standard_normal(len(t)))[:, None]
    noise = sensor_noise([samples])
    batches, _ = local_windows([samples], noise, 1e-3)
    near = [b.window.half for b in batches for c in b.centre if abs(c - 2000) < 20]
    far = [b.window.half for b in batches for c in b.centre if 500 < c < 1500]
    assert max(near) < 30 and np.median(far) > 100


def test_local_windows_never_touch_missing_samples(rng: np.random.Generator) -> None:
    samples = np.sin(np.arange(1000.0) / 50.0)[:, None] + 1e-3 * rng.standard_normal((1000, 1))
    samples[400:410] = np.nan
    batches, _ = local_windows([samples], sensor_noise([samples]), 1e-3)
    for batch in batches:
        lowest, highest = batch.centre - batch.window.half, batch.centre + batch.window.half
        assert not np.any((lowest < 410) & (highest >= 400))


def targets_of_noise(seed: int, states: int = 1) -> tuple[Problem, NoiseRows]:
    """A rotation known in full: what the windows leave is noise alone; the noise of so many states."""
    rng = np.random.default_rng(seed)
    physics = Physics(["x", "y"], ["3*y", "-3*x"])
    t = np.arange(3000) * 2e-3
    samples = np.stack([np.sin(3.0 * t), np.cos(3.0 * t)], axis=1) + 0.01 * rng.standard_normal((3000, 2))
    noise = sensor_noise([samples])
    batches, _ = local_windows([samples], noise, 2e-3)
    targets = make_targets(Layout((0, 1), (0, 0), 2e-3, ("x", "y")), batches, [np.zeros((3000, 0))])
    field, slopes = physics.field(targets.columns), physics.jacobian(targets.columns)
    rows = noise_rows(targets, [3000], noise.sigma, {i: slopes[:, i] for i in range(states)})
    target = targets.dx[:, 0] - targets.filtered(field[:, 0], 0)
    return Problem(targets, 0, target, [], Whitener(rows, states)), rows


def test_whitener_makes_noise_white() -> None:
    problem, rows = targets_of_noise(1)
    assert np.mean(problem.y**2) == pytest.approx(problem.whitener.expected, rel=0.15)
    squares = [np.sum(rows.weights[b : b + n] ** 2) for b, n in zip(rows.begin, rows.length, strict=True)]
    assert np.allclose(problem.whitener.variance[:, 0], squares)


def test_noise_variance_is_the_sum_of_squared_weights() -> None:
    """Of windows whose noise is raised by the soft gate too."""
    problem, _ = targets_of_noise(1)
    targets, sigma = problem.targets, np.array([0.01, 0.03])
    slopes = {1: np.random.default_rng(0).standard_normal((len(targets.owner), 2))}
    targets.batches[0].excess[:] = [2.0, 5.0]
    rows = noise_rows(targets, [3000], sigma, slopes)
    squares = [np.sum(rows.weights[b : b + n] ** 2) for b, n in zip(rows.begin, rows.length, strict=True)]
    assert np.allclose(noise_variance(targets, sigma, slopes)[:, 0], squares, rtol=1e-10)


def test_problem_columns_are_designs_of_their_values() -> None:
    problem, _ = targets_of_noise(2)
    entries = [(), (Factor("power", 0, (3.0,)),), (Factor("tanh", 1, (2.0,)), Factor("power", 0, (1.0,)))]
    x, y = problem.targets.columns.T
    values = np.stack([np.ones(len(x)), x**3, np.tanh(2.0 * y) * x], axis=1)
    assert np.allclose(problem.columns(entries), problem.design(values))
    assert np.allclose(problem.whitened(problem.filtered(entries)), problem.design(values))
    assert np.allclose(problem.rms(entries), np.sqrt(np.mean(values**2, axis=0)))


def test_whitener_expects_what_drawn_noise_gives(rng: np.random.Generator) -> None:
    problem, rows = targets_of_noise(3)
    draws = rng.standard_normal((int(np.max(rows.first + rows.length)), 200))
    spans = zip(rows.first, rows.begin, rows.length, strict=True)
    noise = np.array([rows.weights[begin : begin + n] @ draws[place : place + n] for place, begin, n in spans])
    assert np.mean(problem.whitener.rows(noise) ** 2) == pytest.approx(problem.whitener.expected, rel=0.02)


def test_band_covariance_is_that_of_the_rows_in_both_engines() -> None:
    _, rows = targets_of_noise(4, states=2)
    band, count = rows.covariance(), len(rows.first)
    dense = np.zeros((count, int(np.max(rows.first + rows.length))))
    for j in range(count):
        place, begin, length = rows.first[j], rows.begin[j], rows.length[j]
        dense[j, place : place + length] = rows.weights[begin : begin + length]
    exact = dense @ dense.T
    for d, values in enumerate(band):
        assert np.allclose(values[: count - d], np.diagonal(exact, -d), rtol=1e-12, atol=1e-12 * exact.max())
    assert np.count_nonzero(np.tril(exact, -len(band))) == 0
    plain = band_covariance(rows.first, rows.begin, rows.length, rows.weights, len(band) - 1)
    assert np.allclose(band, plain, rtol=1e-12, atol=1e-12 * exact.max())


def test_units_sums_and_slopes_are_the_same_in_both_engines(rng: np.random.Generator) -> None:
    z, centres, weights = rng.normal(size=(70, 3)), rng.normal(size=(13, 3)), rng.normal(size=70)
    starts, inverse = np.array([0, 5, 30]), np.array([1.3, 40.0, 0.0])
    plain, compiled = NumpyUnits(z, centres, weights, starts), make_units(z, centres, weights, starts)
    assert compiled.sums(inverse) == pytest.approx(plain.sums(inverse), rel=1e-11, abs=1e-13)
    slopes = rng.normal(size=(3, 13))
    expected = plain.by_length(slopes, inverse)
    assert compiled.by_length(slopes, inverse) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_kernel_evidence_gradient_is_exact() -> None:
    problem, _ = targets_of_noise(2)
    inputs = make_inputs(problem.targets.columns, (0, 1), ())
    search = _Search(
        problem, inputs, make_blocks(problem), np.zeros((len(problem.y), 0)), np.full(3, 3.0 * problem.size)
    )
    hyper = np.array([0.3, 0.8, search.size + 1.0, search.noise + 0.1])
    _, gradient = search.minus(hyper)
    for k, step in enumerate(1e-5 * np.eye(4)):
        numeric = (search.minus(hyper + step)[0] - search.minus(hyper - step)[0]) / 2e-5
        assert gradient[k] == pytest.approx(numeric, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("cogging", [0.0, 1.0])
def test_kernel_sees_the_angle_of_a_motor_only_where_its_rate_depends_on_it(cogging: float) -> None:
    """It leaves the record's range, and a kernel that sees it is wrong there."""
    rng = np.random.default_rng(0)
    t = 0.01 * np.arange(3000)
    u = rng.uniform(-3.0, 3.0, 50)[(t / 0.6).astype(int)][:, None]
    rate = f"5*u - 0.7*w - 1.5*tanh(w)*exp(-0.06*w**2) - {cogging}*sin(0.2*a)"
    x = free_run(known_dynamics(tu.Physics(["a", "w"], ["w", rate], ["u"])), np.zeros(2), t, np.full(2, 1e6), u)
    ude = tu.UDE(tu.Physics(["a", "w"], ["w", "5*u"], ["u"]), library=None, network="kernel", refine=False)
    kernel = ude.fit(x + [0.004, 0.05] * rng.standard_normal(x.shape), t=0.01, u=u).model_.kernel
    assert kernel is not None
    assert (0 in kernel.depends_on(0)) == (cogging > 0.0)


def test_select_finds_columns_that_matter_only_together(rng: np.random.Generator) -> None:
    base = rng.standard_normal((500, 2))
    design = np.column_stack([base[:, 0], base[:, 0] + 0.05 * base[:, 1], rng.standard_normal((500, 20))])
    target = 20.0 * (design[:, 1] - design[:, 0]) + rng.standard_normal(500)
    assert sorted(select(make_gram(design, target), 15.0)) == [0, 1]


def test_expression_says_what_evaluate_computes(rng: np.random.Generator) -> None:
    columns = rng.uniform(0.5, 2.0, size=(30, 3))
    offer = Offer(2, (), (1,), np.ones(3), columns.min(axis=0), columns.max(axis=0))
    entries = rich_library(offer)
    values = evaluate(entries, columns)
    symbols = [sp.Symbol(name, real=True) for name in "abu"]
    for k in range(0, len(entries), 7):
        numeric = sp.lambdify(symbols, expression(entries[k], "abu"), "numpy")(*columns.T)
        assert np.allclose(values[:, k], numeric, rtol=1e-4)
    assert (Factor("inverse", 0, (1.0,)),) in entries


def test_batch_fit_finds_linear_damping_and_its_interval() -> None:
    system = pendulum()
    _, samples = system.stream(0.01, seed=0, seconds=20.0)
    model = fit(system.physics, samples).best.model
    assert [str(term) for term in model.terms] == ["omega"]
    assert model.coefficients[0, 0] == pytest.approx(-0.4, abs=4.0 * model.errors[0, 0])
    assert model.errors[0, 0] < 1e-3


def test_batch_fit_finds_damping_from_the_angle_alone() -> None:
    system = pendulum()
    _, samples = system.stream(0.001, seed=0, seconds=20.0)
    model = fit(system.physics, samples[:, :1], measured=["theta"]).best.model
    assert system.field_error(model.field) < 5e-3


def test_batch_fit_finds_a_curve_that_no_library_was_offered_for() -> None:
    system = pendulum(residual=lambda theta, omega: 0.8 * np.sin(3.0 * theta) * np.exp(-(omega**2)))
    _, samples = system.stream(0.001, seed=0, seconds=30.0)
    result = fit(system.physics, samples, library=None)
    assert result.best.name == "kernel"
    visited = system.clean(0, 30.0)[1][::20]
    wanted = system.missing(visited)
    error = np.linalg.norm(result.best.model.residual(visited) - wanted) / np.linalg.norm(wanted)
    assert error < 0.1


def test_batch_fit_learns_physical_parameters() -> None:
    told = Physics(
        ["theta", "omega"], ["omega", "-k*sin(theta) - c*omega"],
        parameters={"k": Parameter(7.0, learn=True), "c": Parameter(0.1, learn=True, min=0.0)},
    )  # fmt: skip
    _, samples = pendulum().stream(0.01, seed=0, seconds=20.0)
    model = fit(told, samples).best.model
    values = [model.physics.parameters[name].value for name in ("k", "c")]
    assert values == pytest.approx([9.81, 0.4], rel=5e-3) and not model.coefficients.any()
    assert np.all(np.abs(np.array(values) - [9.81, 0.4]) < 5.0 * model.parameter_errors)


def test_batch_fit_learns_an_equation_that_only_looks_like_a_definition(rng: np.random.Generator) -> None:
    t = np.arange(4000) * 5e-3
    decay = np.exp(-0.15 * t)
    clean = np.stack([decay * np.sin(2.0 * t), decay * np.cos(2.0 * t)], axis=1)  # dx/dt = 2 y - 0.15 x
    physics = Physics(["x", "y"], ["y", "-2*x - 0.15*y"])
    result = fit(physics, clean + 0.003 * rng.standard_normal(clean.shape), 5e-3)
    wanted = clean[:, 1] - 0.15 * clean[:, 0]
    error = np.linalg.norm(result.best.model.residual(clean)[:, 0] - wanted) / np.linalg.norm(wanted)
    assert result.best.model.on == (0, 1) and error < 0.02


def test_batch_fit_invents_nothing_in_a_complete_equation() -> None:
    physics = Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) - 0.4*omega"])
    _, samples = pendulum().stream(0.01, seed=3, seconds=20.0)
    result = fit(physics, samples)
    assert result.best.name == "known" and result.chi2[1] < 1.3


def test_missing_leaves_out_slopes_that_terms_beside_the_network_hold(rng: np.random.Generator) -> None:
    x, y = rng.normal(2.0, 1.0, 50), rng.normal(size=50)
    plain = np.stack([np.ones(50), (x - 2.0) / 3.0, y], axis=1)
    assert _missing(plain, np.zeros((50, 0))).tolist() == [1.0, 1.0, 1.0]
    assert _missing(plain, np.stack([x, np.sin(y)], axis=1)).tolist() == [1.0, 0.0, 1.0]
    assert _missing(plain, np.stack([np.full(50, 7.0), y], axis=1)).tolist() == [0.0, 1.0, 0.0]


def test_honest_covariance_holds_a_kink_that_a_smooth_prior_rounds() -> None:
    """90 % intervals at the likeliest length and size of the kernel."""
    x, centres, rng = np.linspace(-2.0, 2.0, 120), np.linspace(-2.0, 2.0, 25), np.random.default_rng(8)
    truth = 4.0 * np.tanh(3.0 * x)  # in units of the noise
    bases = []
    for length in (0.4, 0.55, 0.75, 1.0, 1.4, 2.0):
        among = np.exp(-0.5 * ((centres[:, None] - centres) / length) ** 2)
        root = np.linalg.inv(np.linalg.cholesky(among + 1e-6 * np.eye(25))).T
        shapes = np.exp(-0.5 * ((x[:, None] - centres) / length) ** 2) @ root
        bases += [size * shapes for size in np.exp(np.arange(9.0))]
    held = []
    for _ in range(40):
        y = truth + rng.standard_normal(len(x))
        features, found = max(((base, posterior(base, y)) for base in bases), key=lambda pair: pair[1].evidence)
        miss = np.abs(features @ found.mean - truth)
        both = found.covariance, wide_covariance(found, features, 0, 25)
        held.append([np.mean(miss < 1.645 * np.sqrt(np.sum(features @ c * features, axis=1))) for c in both])
    plain, wider = np.mean(held, axis=0)
    assert plain < 0.85 < wider < 0.95


def test_a_shape_is_found_where_a_few_powers_leave_no_more_than_noise() -> None:
    plant = plant_named("mass on a magnet")
    samples, _ = plant.record(0.05, seed=1)
    model = batch_fit(plant.physics, as_stream(samples, plant.period, None, ["x", "v"], ())).best.model
    assert plant.error(model.residual) < 0.01  # three powers leave 1.02 times the noise, and miss by 0.033


@pytest.mark.parametrize("states", [3, 6])
def test_the_rich_library_holds_the_cube_of_every_state(states: int) -> None:
    low, high, rms = (np.full(states, value) for value in (-1.0, 1.0, 0.5))
    entries = rich_library(Offer(states, (), (), rms, low, high))
    assert all((Factor("power", k, (3.0,)),) in entries for k in range(states)) and len(entries) == len(set(entries))


def test_fit_leaves_out_terms_that_freed_shapes_make_unsure() -> None:
    plant = plant_named("pump with cavitation")
    samples, inputs = plant.record(0.01)
    given = inputs if plant.inputs else None
    ude = tu.UDE(plant.physics, measured=plant.measured, refine=False).fit(samples, u=given, t=plant.period)
    assert len(ude.terms_) == 1  # a threshold: eight shapes were found for it, seven of them with 0 in their interval
    assert plant.error(ude.residual) < 0.02


def test_small_sets_find_the_pair_that_a_stand_in_hides() -> None:
    """One column is nearly the sum of the two that are right: a set that is grown takes it first."""
    rng = np.random.default_rng(5)
    right = rng.standard_normal((400, 2))
    stand_in = right.sum(axis=1) + 0.3 * rng.standard_normal(400)
    mended = [stand_in - right.sum(axis=1) + 0.1 * rng.standard_normal(400) for _ in range(3)]
    design = np.column_stack([stand_in, *mended, right, rng.standard_normal((400, 10))])
    target = 30.0 * right.sum(axis=1) + rng.standard_normal(400)
    gram = make_gram(design, target)
    assert grow(gram, [], 15.0, 12)[0] == 0
    pairs = [chosen for chosen in small_sets(gram) if len(chosen) == 2]
    assert sorted(pairs[0]) == [4, 5]
    assert sorted(select(gram, 15.0)) == [4, 5]


def test_batch_fit_finds_a_switch_with_its_place_and_exponent() -> None:
    plant = Plant(
        "Goodwin", "biology", "x y z", ("-0.5*x", "x - 0.5*y", "y - 0.5*z"), {"x": "3/(1 + z**10)"},
        ((0.5, 0.6, 1.0),), 0.02, 3000,
    )  # fmt: skip
    model = fit(plant.physics, plant.record(0.01)[0][0], plant.period).best.model
    assert len(model.terms) == 2
    place, exponent = model.shapes.values()
    assert place == pytest.approx(1.0, abs=0.05)
    assert exponent == pytest.approx(10.0, abs=0.5)


def test_batch_fit_looks_again_where_a_sharp_corner_was_found() -> None:
    """Windows across the corner follow it only once it was found; before, many terms stand for what they miss."""
    plant = Plant(
        "jerk", "electronics", "x y z", ("y", "z", "-0.5*z - y - x"), {"z": "tanh(50*x)"},
        ((0.1, 0.5, 0.2),), 0.02, 5000,
    )  # fmt: skip
    model = fit(plant.physics, plant.record(0.01)[0][0], plant.period).best.model
    assert [sp.sympify(term).func for term in model.terms] == [sp.tanh]


def test_rich_library_offers_an_input_of_two_values_as_it_is() -> None:
    """A bump of a transistor's state stood for a constant and a line: every function of two values is one."""
    offer = Offer(1, (), (), np.ones(2), np.array([-1.0, 0.0]), np.array([2.0, 1.0]), switched=(1,))
    of_input = [entry for entry in rich_library(offer) if any(factor.column == 1 for factor in entry)]
    assert (Factor("power", 1, (1.0,)),) in of_input
    assert {(f.kind, f.shape) for entry in of_input for f in entry if f.column == 1} == {("power", (1.0,))}
    assert any(len(entry) == 2 for entry in of_input)  # times what the state does


def test_batch_fit_tells_an_input_of_two_values() -> None:
    rng = np.random.default_rng(0)
    on = np.repeat(rng.integers(0, 2, 60), 25).astype(float)
    x, rows = 0.0, []
    for u in on:
        rows.append(x)
        target = (2.0 * u - 0.5 * (1.0 - u)) / 0.8
        x = target + (x - target) * np.exp(-0.8 * 0.02)
    samples = np.array(rows)[:, None] + 0.002 * rng.standard_normal((len(on), 1))
    ude = tu.UDE(tu.Physics(["x"], ["2*u"], inputs=["u"]), refine=False).fit(samples, t=0.02, u=on)
    assert {row["term"] for row in ude.terms_} == {"x", "u", "1"}


def test_counters_of_a_long_record_count_all_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of very many windows, half are used; rejected ones are counted among all."""
    t, Y = tu.systems.pendulum("A").stream(noise=0.01, seconds=12.0)
    Y[600] += 0.5
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) - 0.4*omega"])
    whole = tu.UDE(physics, library=None, network=None, refine=False).fit(Y, t=t).result_.counters
    monkeypatch.setattr("tinyude.training.batch.windows.MANY", 20)
    half = tu.UDE(physics, library=None, network=None, refine=False).fit(Y, t=t).result_.counters
    assert (half.windows, half.accepted, half.rejected) == (whole.windows, whole.accepted, whole.rejected)
    assert 20 < whole.accepted <= whole.windows
