from functools import cache

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from tinyude import systems
from tinyude.errors import TinyUDEError
from tinyude.systems.signals import jittered_times

GRAVITY = 9.81


@cache
def clean(name: str, seconds: float | None = None) -> tuple[systems.System, np.ndarray, np.ndarray]:
    system = systems.pendulum() if name == "pendulum" else systems.double_pendulum()
    return system, *system.clean(0, seconds)


def rk4(system: systems.System, state: np.ndarray, seconds: float, steps: int) -> np.ndarray:
    h = seconds / steps
    for _ in range(steps):
        k1 = system.truth(state)
        k2 = system.truth(state + h / 2 * k1)
        k3 = system.truth(state + h / 2 * k2)
        k4 = system.truth(state + h * k3)
        state = state + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return state


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum"])
def test_clean_follows_the_truth_from_sample_to_sample(name: str) -> None:
    """Every sample against a fine RK4 from the sample before: the error a learner could see, chaos apart."""
    system, _, states = clean(name)
    jumps = np.round(system.jump_times() * system.rate).astype(int) - 1
    error = np.abs(rk4(system, states[:-1], 1.0 / system.rate, 4) - states[1:])
    error[jumps] = 0.0
    assert error.max() < 5e-10


@pytest.mark.parametrize("residual", ["quadratic", "dry", "cogging", "stribeck"])
def test_clean_follows_every_residual_from_sample_to_sample(residual: str) -> None:
    system = systems.pendulum(residual=residual)
    states = system.clean(0, 4.0)[1]
    assert np.abs(rk4(system, states[:-1], 1.0 / system.rate, 4) - states[1:]).max() < 1e-10


@pytest.mark.parametrize("name", ["pendulum", "double_pendulum"])
def test_clean_agrees_with_another_solver(name: str) -> None:
    system, times, states = clean(name)
    solution = solve_ivp(
        lambda _, x: system.truth(x), (0.0, 2.0), system.start, "LSODA", times[:2000], rtol=1e-12, atol=1e-13
    )
    assert np.abs(solution.y.T - states[:2000]).max() < 1e-8


def test_pendulum_stream_is_a_minute_at_one_kilohertz() -> None:
    system, times, states = clean("pendulum")
    assert states.shape == (60_000, 2) and system.rate == 1000.0
    np.testing.assert_allclose(np.diff(times), 0.001, rtol=1e-9)
    np.testing.assert_array_equal(states[0], [1.2, 0.0])


def test_impulses_change_omega_only_every_four_seconds() -> None:
    system, _, states = clean("pendulum")
    np.testing.assert_array_equal(system.jump_times(), np.arange(4.0, 60.0, 4.0))
    change = np.diff(states, axis=0)
    jumps = np.round(system.jump_times() * 1000).astype(int) - 1
    kicks = change[jumps, 1]
    assert np.all((np.abs(kicks) > 1.9) & (np.abs(kicks) < 4.1)) and len(set(np.sign(kicks))) == 2
    assert np.abs(change[:, 0]).max() < 0.01
    assert np.abs(np.delete(change[:, 1], jumps)).max() < 0.02


def test_stream_noise_is_relative_to_each_channels_rms() -> None:
    system, _, states = clean("pendulum")
    noise = system.stream(0.02)[1] - states
    np.testing.assert_allclose(noise.std(axis=0), 0.02 * np.sqrt((states**2).mean(axis=0)), rtol=0.02)
    np.testing.assert_array_equal(system.stream(0.0)[1], states)


def test_stream_is_determined_by_its_seed() -> None:
    first, again, other = (systems.pendulum().stream(0.01, seed, 5.0)[1] for seed in (3, 3, 4))
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[:4000] - other[:4000]).max() > 1e-3  # the noise
    clean3, clean4 = (systems.pendulum().clean(seed, 5.0)[1] for seed in (3, 4))
    np.testing.assert_array_equal(clean3[:4000], clean4[:4000])  # the kicks only begin at 4 s
    assert np.abs(clean3[4001] - clean4[4001]).max() > 0.01


def test_clean_is_a_prefix_of_a_longer_run_and_cannot_be_spoilt() -> None:
    system, _, states = clean("pendulum")
    part = system.clean(0, 9.0)[1]
    np.testing.assert_allclose(part, states[:9000], atol=1e-9)
    part[:] = 0.0
    assert system.clean(0, 9.0)[1][0, 0] == 1.2


def test_states_at_gives_the_states_between_samples() -> None:
    system, times, states = clean("pendulum")
    uneven = jittered_times(9000, 0.001, 0.4, np.random.default_rng(0))
    found = system.states_at(uneven)
    np.testing.assert_allclose(found[0], states[0])
    early = uneven < 3.9
    expected = np.stack([np.interp(uneven[early], times, states[:, k]) for k in range(2)], axis=1)
    np.testing.assert_allclose(found[early], expected, atol=1e-5)
    with pytest.raises(TinyUDEError, match="increase"):
        system.states_at(np.array([0.0, 0.2, 0.1]))


def test_pendulum_cases_tell_the_physics_of_the_paper() -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    gravity, damping = GRAVITY * np.sin(x[:, 0]), 0.4 * x[:, 1]
    told = {"A": -gravity, "B": -0.9 * gravity - damping, "C": -0.9 * gravity}
    for case, acceleration in told.items():
        system = systems.pendulum(case)
        np.testing.assert_allclose(system.physics.field(x), np.stack([x[:, 1], acceleration], 1), rtol=1e-13)
        np.testing.assert_allclose(system.truth(x), np.stack([x[:, 1], -gravity - damping], 1), rtol=1e-13)
        np.testing.assert_allclose(system.missing(x), system.truth(x) - system.physics.field(x))
        np.testing.assert_allclose(system.true_damping, [0.0 if case == "B" else 0.4], atol=1e-12)


@pytest.mark.parametrize(
    ("residual", "expected"),
    [
        (None, lambda th, w: -0.4 * w),
        ("linear", lambda th, w: -0.4 * w),
        ("quadratic", lambda th, w: -0.15 * w * np.abs(w)),
        ("dry", lambda th, w: -0.5 * np.tanh(5 * w) - 0.1 * w),
        ("cogging", lambda th, w: -0.3 * np.sin(6 * th)),
        ("stribeck", lambda th, w: -(0.3 + 0.3 * np.exp(-((w / 0.5) ** 2))) * np.tanh(10 * w) - 0.1 * w),
        (lambda th, w: -w * th**2, lambda th, w: -w * th**2),
    ],
)
def test_pendulum_lacks_the_residual_it_is_asked_for(residual, expected) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    missing = systems.pendulum(residual=residual).missing(x)
    np.testing.assert_allclose(missing[:, 0], 0.0, atol=1e-15)
    np.testing.assert_allclose(missing[:, 1], expected(x[:, 0], x[:, 1]), rtol=1e-12, atol=1e-14)


def test_damping_change_takes_hold_at_its_time() -> None:
    system = systems.pendulum(damping_change=(2.0, 1.0))
    x = np.array([0.3, 2.0])
    np.testing.assert_allclose(system.missing(x, 1.9)[1], -0.8)
    np.testing.assert_allclose(system.missing(x, 2.0)[1], -2.0)
    before, after = system.clean(0, 4.0)[1], systems.pendulum().clean(0, 4.0)[1]
    np.testing.assert_allclose(before[:2000], after[:2000], atol=1e-9)
    assert np.abs(before[3000:] - after[3000:]).max() > 0.05


def test_grid_covers_the_box_of_the_pendulum() -> None:
    grid = systems.pendulum().grid()
    assert grid.shape == (1681, 2)
    np.testing.assert_allclose([grid.min(0), grid.max(0)], [[-1.2, -3.5], [1.2, 3.5]])


def test_grid_of_the_double_pendulum_is_what_it_visits() -> None:
    system, _, states = clean("double_pendulum")
    np.testing.assert_array_equal(system.grid(), states[::10])
    assert np.abs(system.grid(seed=1)[0] - system.grid()[0]).max() > 1e-3


def test_field_error_is_relative_to_the_truth() -> None:
    system = systems.pendulum()
    assert system.field_error(system.truth) == 0.0
    assert system.field_error(lambda x: 1.1 * system.truth(x)) == pytest.approx(0.1)
    assert system.field_error(lambda x: 0.0 * x, states=np.ones((3, 2))) == pytest.approx(1.0)


def test_damping_reads_the_slope_of_a_residual_on_velocity() -> None:
    single = systems.pendulum()
    found = single.damping(lambda x: np.stack([x[:, 0], 0.2 * np.sin(x[:, 0]) - 0.37 * x[:, 1]], 1))
    np.testing.assert_allclose(found, [0.37], rtol=1e-12)
    double = clean("double_pendulum")[0]
    found = double.damping(lambda x: np.concatenate([0.0 * x[:, :2], -x[:, 2:] * [0.1, 0.3]], axis=1))
    np.testing.assert_allclose(found, [0.1, 0.3], rtol=1e-12)


def double_energy(x: np.ndarray, masses: tuple[float, float], lengths: tuple[float, float]) -> np.ndarray:
    (m1, m2), (l1, l2) = masses, lengths
    th1, th2, w1, w2 = x.T
    kinetic = 0.5 * (m1 + m2) * (l1 * w1) ** 2 + 0.5 * m2 * (l2 * w2) ** 2 + m2 * l1 * l2 * w1 * w2 * np.cos(th1 - th2)
    return np.asarray(kinetic - GRAVITY * ((m1 + m2) * l1 * np.cos(th1) + m2 * l2 * np.cos(th2)))


def test_double_pendulum_conserves_energy_without_damping() -> None:
    masses, lengths = (1.3, 0.6), (0.8, 1.1)
    system = systems.double_pendulum(masses=masses, lengths=lengths, damping=(0.0, 0.0))
    energy = double_energy(system.clean(0, 8.0)[1], masses, lengths)
    assert np.ptp(energy) < 1e-8


def test_double_pendulum_loses_energy_with_damping() -> None:
    """Over each second it falls; not at every instant, since -c omega in the accelerations is not a Rayleigh force."""
    _, _, states = clean("double_pendulum")
    energy = double_energy(states, (1.0, 1.0), (1.0, 1.0))[::1000]
    assert np.all(np.diff(energy) < 0.0)


def test_double_pendulum_agrees_with_its_mass_matrix() -> None:
    (m1, m2), (l1, l2) = masses, lengths = (1.7, 0.4), (0.6, 1.3)
    x = np.random.default_rng(0).normal(scale=3.0, size=(50, 4))
    th1, th2, w1, w2 = x.T
    delta = th1 - th2
    matrix = np.array(
        [[np.full(50, (m1 + m2) * l1), m2 * l2 * np.cos(delta)], [m2 * l1 * np.cos(delta), np.full(50, m2 * l2)]]
    ).transpose(2, 0, 1)
    force = np.stack(
        [
            -m2 * l2 * w2**2 * np.sin(delta) - (m1 + m2) * GRAVITY * np.sin(th1),
            m2 * l1 * w1**2 * np.sin(delta) - m2 * GRAVITY * np.sin(th2),
        ],
        axis=-1,
    )
    implicit = np.linalg.solve(matrix, force[..., None])[..., 0]
    told = systems.double_pendulum("A", masses=masses, lengths=lengths)
    np.testing.assert_allclose(told.physics.field(x)[:, 2:], implicit, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(told.truth(x)[:, 2:], implicit - 0.15 * x[:, 2:], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(told.truth(x)[:, :2], x[:, 2:])


def test_double_pendulum_cases_differ_by_gravity_and_damping() -> None:
    x = np.random.default_rng(0).normal(size=(20, 4))
    a, b, c = (systems.double_pendulum(case).physics.field(x) for case in "ABC")
    truth = systems.double_pendulum().truth(x)
    np.testing.assert_allclose((truth - a)[:, 2:], -0.15 * x[:, 2:], atol=1e-12)
    np.testing.assert_allclose((b - c)[:, 2:], -0.15 * x[:, 2:], atol=1e-12)
    still = np.concatenate([x[:, :2], np.zeros((20, 2))], axis=1)
    np.testing.assert_allclose(
        systems.double_pendulum("C").physics.field(still), 0.9 * systems.double_pendulum().truth(still), rtol=1e-12
    )


def test_double_pendulum_starts_at_the_papers_point_for_seed_zero_and_near_it_otherwise() -> None:
    system = clean("double_pendulum")[0]
    np.testing.assert_array_equal(system.clean(0, 0.001)[1], [[2.0, 2.4, 0.0, 0.0]])
    starts = np.array([system.clean(seed, 0.001)[1][0] for seed in range(1, 40)])
    np.testing.assert_array_equal(starts[:, 2:], 0.0)
    np.testing.assert_allclose(starts[:, :2].std(axis=0), 0.05, rtol=0.5)
    np.testing.assert_allclose(starts[:, :2].mean(axis=0), [2.0, 2.4], atol=0.03)


def test_physics_of_the_systems_knows_its_angles_and_rates() -> None:
    assert systems.pendulum().physics.angles == ("theta",)
    double = systems.double_pendulum().physics
    assert double.angles == ("theta1", "theta2") and double.kinematic == (2, 3, None, None)


@pytest.mark.parametrize(
    ("call", "complaint"),
    [
        (lambda: systems.pendulum("D"), "no case 'D'; choose A, B, C"),
        (lambda: systems.pendulum(residual="sticky"), "sticky.*stribeck"),
        (lambda: systems.pendulum("B", residual="dry"), "linear damping"),
        (lambda: systems.pendulum(residual="dry", damping_change=(1.0, 1.0)), "linear damping"),
        (lambda: systems.pendulum().stream(seconds=0.0), "contain no sample"),
        (lambda: systems.double_pendulum(masses=(1.0, 0.0)), "above 0"),
    ],
)
def test_systems_reject_impossible_settings(call, complaint: str) -> None:
    with pytest.raises(TinyUDEError, match=complaint):
        call()
