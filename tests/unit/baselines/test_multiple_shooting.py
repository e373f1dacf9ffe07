import numpy as np
import pytest
from sklearn.base import clone

from tinyude.baselines import MultipleShooting, adjoint
from tinyude.baselines.shooting_record import Record, find_jumps, make_windows
from tinyude.errors import TinyUDEError
from tinyude.experiments.paper import adjoint_gradients
from tinyude.physics import Physics
from tinyude.reference.network.mlp import mlp_backward, mlp_forward, mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.systems import double_pendulum, pendulum

PLANT = pendulum()


def small(**settings):
    defaults = {"steps": 10, "hidden": (6,), "iterations": 200, "windows": 24}
    return MultipleShooting(PLANT.physics, **(defaults | settings))


@pytest.fixture(scope="module")
def record():
    return PLANT.stream(noise=0.01, seed=0, seconds=12.0)


@pytest.fixture(scope="module")
def fitted(record):
    times, y = record
    return small().fit(y, times)


def test_adjoint_gradients_agree_with_complex_step():
    report = adjoint_gradients.run(quick=True)
    assert len(report["rows"]) == 14
    assert {row["name"] for row in report["rows"] if not row["pass"]} == set()


@pytest.mark.parametrize("mistake", ["_SHARES", "_REACH", "jacobian", "tanh"])
def test_adjoint_gradients_expose_a_broken_adjoint(monkeypatch, mistake):
    right = adjoint._reverse
    if mistake in ("_SHARES", "_REACH"):

        def reverse(*args):
            with monkeypatch.context() as patch:
                patch.setattr(adjoint, mistake, getattr(adjoint, mistake) * [1.0, 1.0, 1.0 + 1e-9, 1.0])
                return right(*args)

        monkeypatch.setattr(adjoint, "_reverse", reverse)
    else:
        vjp = adjoint._field_vjp
        wrong = {
            "jacobian": lambda back, z, slopes, jacobian: vjp(back, z, slopes, jacobian.swapaxes(-1, -2)),
            "tanh": lambda back, z, slopes, jacobian: vjp(back, z, [s * (1.0 + 1e-9) for s in slopes], jacobian),
        }
        monkeypatch.setattr(adjoint, "_field_vjp", wrong[mistake])
    monkeypatch.setattr(adjoint_gradients, "CHECKS", [adjoint_gradients.Check("pendulum", steps=5)])
    assert not adjoint_gradients.run(quick=True)["pass"]


def test_loss_gradient_of_one_small_step_matches_the_reference_network():
    """With a tiny step RK4 is Euler, and the gradient is that of the plain network, scaled."""
    rng = np.random.default_rng(0)
    sizes, period = (2, 5, 2), 1e-9
    params, observed = mlp_init(sizes, rng_seed(0)), rng.normal(size=(2, 7, 2))
    ones = np.ones(2)
    shooting = adjoint.Shooting(
        PLANT.physics, sizes, (0, 1), ones, ones, period, observed, np.empty((1, 4, 7, 0)), ones
    )
    _, grad = adjoint.loss_gradient(params, shooting, adjoint.tape_init(shooting))
    y_bar = (2.0 / 7) * period * (observed[0] - observed[1])
    expected, _ = mlp_backward(params, sizes, mlp_forward(params, sizes, observed[0]), y_bar)
    np.testing.assert_allclose(grad, expected, rtol=1e-6)


@pytest.mark.parametrize(("steps", "megabytes"), [(40, 5.898240), (80, 11.796480)])
def test_tape_holds_the_bytes_of_the_paper(steps, megabytes):
    observed, ones = np.zeros((steps + 1, 128, 2)), np.ones(2)
    inputs = np.empty((steps, 4, 128, 0))
    shooting = adjoint.Shooting(PLANT.physics, (2, 16, 16, 2), (0, 1), ones, ones, 0.02, observed, inputs, ones)
    assert adjoint.tape_init(shooting).nbytes == round(megabytes * 1e6)
    assert adjoint.multiply_accumulates(shooting) == 3 * 320 * 4 * steps * 128


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.01, 0.05])
def test_find_jumps_finds_every_kick_and_nothing_else(noise):
    _, y = PLANT.stream(noise, seed=1)
    flags = find_jumps(PLANT.physics, Record(y, np.zeros((len(y), 0)), 1e-3))
    kicks = np.round(1000 * PLANT.jump_times()).astype(int)
    assert len(kicks) == 14
    assert flags[kicks].all()
    distance = np.abs(np.flatnonzero(flags)[:, None] - kicks).min(axis=1)
    assert distance.max() <= 10


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.05])
@pytest.mark.parametrize("case", ["A", "C"])
def test_find_jumps_accepts_chaos(noise, case):
    plant = double_pendulum(case)
    _, y = plant.stream(noise, seed=0)
    assert not find_jumps(plant.physics, Record(y, np.zeros((len(y), 0)), 1e-3)).any()


def test_windows_never_straddle_a_jump_or_two_runs():
    flags = np.zeros(1000, dtype=bool)
    flags[[300, 640]] = True
    run = Record(np.zeros((1000, 2)), np.zeros((1000, 0)), 1e-3)
    first = make_windows([run, run], [flags, flags], rate=50.0, steps=5).draw(200, rng_seed(3))
    assert len(first) == len(np.unique(first)) == 200
    assert first.min() < 1000 < first.max()
    for start in first:
        assert start // 1000 == (start + 100) // 1000
        assert not flags[start % 1000 + 1 : start % 1000 + 101].any()  # a flag marks the first sample after its jump


def test_windows_hold_the_input_of_each_stage():
    run = Record(np.zeros((50, 1)), np.zeros((50, 1)), 1e-3)
    windows = make_windows([run], [np.zeros(50, dtype=bool)], rate=250.0, steps=2)
    assert windows.ticks.ravel().tolist() == [0, 4, 8]
    assert windows.stage_ticks[..., 0].tolist() == [[0, 1, 1, 3], [4, 5, 5, 7]]


def test_redraw_gives_every_iteration_its_own_windows(record):
    _, y = record
    still, fresh = (small(iterations=30, learning_rate=1e-12, redraw=redraw).fit(y, t=1e-3) for redraw in (False, True))
    assert np.ptp(still.history_["loss"]) < 1e-9 < np.ptp(fresh.history_["loss"])
    assert len(np.unique(fresh.history_["loss"])) == 30


def test_fit_learns_the_damping(fitted):
    loss = fitted.history_["loss"]
    assert loss[-1] < 0.25 * loss[0]  # the rest is noise
    assert PLANT.field_error(fitted.predict) < 0.3 * PLANT.field_error(PLANT.physics.field)
    assert fitted.diagnostics_["jumps_found"] == 2
    assert fitted.diagnostics_["peak_heap_bytes"] > fitted.diagnostics_["tape_bytes"] == 8 * 10 * 4 * 24 * (2 + 6 + 2)


def test_fit_is_deterministic(fitted, record):
    times, y = record
    np.testing.assert_array_equal(clone(fitted).fit(y, times).params_, fitted.params_)
    assert not np.array_equal(small(random_state=1).fit(y, times).params_, fitted.params_)


def test_fit_never_joins_two_runs(record):
    _, y = record
    model = small(iterations=2).fit([y[:3000], y[6000:9000]], 1e-3)
    assert model.diagnostics_["jumps_found"] == 1  # the kick at 8 s; the break between the runs is none


def test_fit_reports_progress(record):
    _, y = record
    seen = []
    small(iterations=3).fit(y, t=1e-3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_on_confines_the_network_to_the_states_named(record):
    _, y = record
    model = small(on=["omega"], iterations=5).fit(y, t=1e-3)
    residual = model.residual(PLANT.grid())
    assert not residual[:, 0].any()
    assert residual[:, 1].all()


def test_predict_is_known_physics_plus_residual(fitted):
    x = PLANT.grid().reshape(41, 41, 2)
    np.testing.assert_array_equal(fitted.predict(x), PLANT.physics.field(x) + fitted.residual(x))


def test_inputs_drive_training_and_simulation():
    """A motor on a damped axle: the torque is known, the damping is not."""
    axle = Physics(["speed"], ["torque"], inputs=["torque"])
    times = np.arange(0.0, 8.0, 0.01)
    torque = np.sign(np.sin(2.0 * times))[:, None]
    speed = np.empty((len(times), 1))
    speed[0], decay = 0.3, np.exp(-0.5 * 0.01)
    for k in range(len(times) - 1):  # exact for a held torque
        speed[k + 1] = decay * speed[k] + (1.0 - decay) / 0.5 * torque[k]
    model = MultipleShooting(axle, steps=20, hidden=(6,), iterations=150, windows=32, rate=100.0)
    model.fit(speed, times, torque)
    assert np.std(model.residual(speed, torque) + 0.5 * speed) < 0.05 * np.std(0.5 * speed)
    path = model.simulate(speed[0], times[:300], torque[:300])
    np.testing.assert_allclose(path, speed[:300], atol=0.02)
    with pytest.raises(TinyUDEError, match="torque"):
        model.predict(speed)


def test_simulate_follows_the_record(fitted):
    times, clean = PLANT.clean(seed=0, seconds=2.0)
    path = fitted.simulate(clean[0], times)
    assert path.shape == clean.shape
    assert np.sqrt(((path - clean) ** 2).mean()) < 0.1 * np.sqrt((clean**2).mean())


def test_simulate_says_when_and_why_it_diverges(fitted):
    runaway = clone(fitted)
    runaway.__dict__.update(fitted.__dict__)
    runaway.physics = Physics(["theta", "omega"], ["omega", "50*omega"])
    with pytest.raises(TinyUDEError, match=r"diverged at t = 0\.\d+ s of 5 s: omega reached 1000 times its RMS"):
        runaway.simulate([0.1, 1.0], np.linspace(0.0, 5.0, 50))


def test_fit_says_when_training_diverges(record):
    _, y = record
    with pytest.raises(TinyUDEError, match=r"diverged at iteration \d+ with learning_rate 1e\+300"):
        small(learning_rate=1e300).fit(y, t=1e-3)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda y, t: (y[:, :1], t), r"shape \(12000, 1\)"),
        (lambda y, t: (y[:0], t[:0]), "0 samples, too few"),
        (lambda y, t: (y[:150], t[:150]), "No window of 10 steps"),
        (lambda y, t: (np.where(np.arange(len(y))[:, None] == 7, np.nan, y), t), "not finite, the first at 7"),
        (lambda y, t: (y * [1.0, 0.0], t), "omega never changes"),
        (lambda y, t: (y, t[::-1]), "Time does not increase"),
        (lambda y, t: (y, np.where(t > 5.0, t + 1.0, t)), "split the run at gaps"),
        (lambda y, t: (y, t[:-1]), "time stamps of shape"),
        (lambda y, t: (y, 0.0), "sample period is 0"),
        (lambda y, t: ([y, y], [t]), "2 runs but 1"),
    ],
)
def test_fit_rejects_bad_records_with_a_remedy(record, spoil, message):
    times, y = record
    with pytest.raises(TinyUDEError, match=message):
        small().fit(*spoil(y, times))


@pytest.mark.parametrize(
    "setting",
    [
        {"steps": 0},
        {"steps": 2.5},
        {"rate": -1.0},
        {"hidden": ()},
        {"on": ["speed"]},
        {"on": [2]},
        {"on": [0, "theta"]},
    ],
)
def test_fit_rejects_bad_settings(record, setting):
    with pytest.raises(TinyUDEError, match=next(iter(setting))):
        small(**setting).fit(record[1], t=1e-3)
