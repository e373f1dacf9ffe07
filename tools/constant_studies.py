"""Studies of constants without effect on the records of constant_records.py. Lower figures are better.

noise          known sensor noise, estimated by the batch estimator and by the stream
feedback       detection of closed loops
jumps          plants whose friction jumps, and plants without a jump
intervals      the streaming learner's standard errors against its true errors
network        the streaming learner's network alone, and a board's network in addition to terms
window_order   the streaming learner on slow plants that are sampled fast
unidentified   a parameter that the record does not determine, and the others
switches       free runs of a field that switches, against a fine solution
extrapolation  whether badly predicted motions are reported as outside the visited range
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude import native
from tinyude.experiments.studies import choice
from tinyude.experiments.studies.choice_plants import TUNING
from tinyude.experiments.studies.zoo import plant_named
from tinyude.export import chip_of_model
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.model.simulation import outside as outside_range
from tinyude.physics.holds import Hold
from tinyude.reference.signal.noise import noise_init, noise_sigma, noise_update
from tinyude.reference.signal.ring import ring_init, ring_push
from tinyude.training.batch.feedback import followed_states
from tinyude.training.batch.samples import sensor_noise

Array = NDArray[Any]
Figures = Iterator[tuple[str, float]]
SIGNALS = ("spring, cubic stiffening", "mass on a magnet", "two masses, soft coupling", "van der Pol", "Lorenz, coarse")
NOISES = (0.001, 0.01, 0.05)  # of a signal's standard deviation
CLOSE = 0.02  # relative error of a noise estimate that is negligible
BURST = 5.0  # times the noise, a tenth of the time


def noise() -> Figures:
    """Relative errors of the estimates, for uniform noise and for noise in bursts."""
    for name in SIGNALS:
        clean = plant_named(name).clean()[0][0]
        for level in NOISES:
            for kind in ("even", "bursts"):
                samples, sigma = _noisy(clean, level, kind)
                found = sensor_noise([samples]).sigma
                yield f"{name}, {level:g}, {kind}", _off(found, sigma)


def stream_noise() -> Figures:
    """The same for the stream's estimate, which is not designed for bursts."""
    for name in SIGNALS:
        clean = plant_named(name).clean()[0][0]
        for level in NOISES:
            samples, sigma = _noisy(clean, level, "even")
            state, ring = noise_init(samples.shape[1]), ring_init(64, samples.shape[1])
            for row in samples:
                ring_push(ring, row)
                noise_update(state, ring)
            yield f"{name}, {level:g}", _off(noise_sigma(state), sigma)


def _noisy(clean: Array, level: float, kind: str) -> tuple[Array, Array]:
    rng = np.random.default_rng(4)
    sigma = level * clean.std(axis=0)
    factor = np.ones(len(clean))
    if kind == "bursts":
        factor[np.repeat(rng.random(len(clean) // 10 + 1) < 0.1, 10)[: len(clean)]] = BURST
    return clean + sigma * factor[:, None] * rng.standard_normal(clean.shape), sigma * np.sqrt(np.mean(factor**2))


def _off(found: Array, truth: Array) -> float:
    return max(float(np.max(np.abs(np.log(found / truth)))), CLOSE)


def feedback() -> Figures:
    """1 + number of wrongly classified records, by tuning plant of `reproduce choice`, three seeds each."""
    for name, plant in TUNING.items():
        wrong = 0
        for seed in range(3):
            rng = np.random.default_rng(seed)
            for motion in plant.training:
                _, samples, u, _ = choice.record(plant, motion, rng)
                told = followed_states([SimpleNamespace(samples=samples, inputs=u)], ["u"], [Hold("held", 0)])
                wrong += bool(told) != (motion.control is not None)
        yield name, 1.0 + wrong


def jumps() -> Figures:
    """1 + error of the jump's time in seconds; a miss or a false alarm counts as a quarter of the record."""
    physics = tu.Physics(["th", "w"], ["w", "-9.81*sin(th) + tau"], inputs=["tau"])
    for dry in (False, True):
        for after, when in ((0.6, 30.0), (0.6, 14.0), (0.45, 20.0), (0.15, 30.0), (0.3, 30.0)):
            samples, torque = _driven(after, when, dry)
            reasons = tu.UDE(physics, refine=False).fit(samples, u=torque, t=0.01).verdict_.reasons
            told = [float(r.text.split("about ")[1].split(" s ")[0]) for r in reasons if r.kind == "change"]
            right = abs(told[0] - when) if told and after != 0.3 else 15.0 * (bool(told) == (after == 0.3))
            yield f"{'dry' if dry else 'viscous'} friction 0.3, then {after:g} from {when:g} s on", 1.0 + right


def _driven(after: float, when: float, dry: bool) -> tuple[Array, Array]:
    """A driven pendulum for 60 s at 100 Hz whose friction changes."""
    rng, t = np.random.default_rng(11), 0.01 * np.arange(6000)
    size, rate, phase = rng.standard_normal(5), rng.uniform(0.1, 0.8, 5), rng.uniform(0.0, 6.0, 5)

    def torque(s: Any) -> Any:
        return 2.0 * np.sum(size * np.sin(2.0 * np.pi * rate * s + phase))

    def field(s: float, x: Array) -> list[float]:
        friction = (0.3 if s < when else after) * (np.tanh(20.0 * x[1]) if dry else x[1])
        return [x[1], -9.81 * np.sin(x[0]) + torque(s) - friction]

    x = solve_ivp(field, (0.0, t[-1]), [1.0, 0.0], t_eval=t, rtol=1e-8, atol=1e-9, max_step=0.02).y.T
    return x + 0.01 * rng.standard_normal(x.shape), np.array([[torque(s)] for s in t])


def intervals() -> Figures:
    """RMS of true error / standard error of the residual, or its inverse if that is larger: 1 is exact."""
    for name, stride, measured, options in (
        ("terms, angle and rate", 4, 2, {"hidden": ()}),
        ("terms, angle only, 1 kHz", 1, 1, {"hidden": ()}),
        ("network, angle and rate", 4, 2, {"library": None}),
        ("terms and network", 4, 2, {"library": ["omega"]}),
    ):
        ratios = []
        for seed in range(5):
            plant = tu.systems.pendulum("A")
            t, samples = plant.stream(noise=0.01, seed=100 + seed, seconds=20.0)
            states = plant.clean(100 + seed, 20.0)[1][::200]
            ude = tu.UDE(plant.physics, measured=plant.physics.states[:measured], settings={}, refine=False, **options)
            ude.fit(samples[::stride, :measured], t=float(t[stride] - t[0]))
            low, high = ude.residual_interval(states)
            off = (0.5 * (low + high) - plant.missing(states, 20.0))[:, 1]
            ratios.append(np.mean(off**2) / np.mean((0.5 * (high - low)[:, 1] / 1.75) ** 2))
        size = float(np.sqrt(np.mean(ratios)))
        yield name, max(size, 1.0 / size)


def network() -> Figures:
    """Relative error of the residual: a network without terms, and boards whose library lacks a bump."""
    for name in SIGNALS[:4]:
        plant = plant_named(name)
        samples, inputs = plant.record(0.01)
        ude = tu.UDE(plant.physics, settings={}, library=[], refine=False)
        ude.fit(samples, u=inputs if plant.inputs else None, t=plant.period)
        yield f"{name}, network alone", plant.error(ude.residual)
    for fitted in (True, False):
        for seed in range(3):
            yield f"pendulum with a bump, {'fitted' if fitted else 'from nothing'}, seed {seed}", _board(seed, fitted)


def _board(seed: int, fitted: bool) -> float:
    """Relative error of a board's residual after two minutes."""
    plant = tu.systems.pendulum("A", lambda theta, omega: -0.4 * omega - 0.8 * np.exp(-2.0 * (theta - 0.3) ** 2))
    t, samples = plant.stream(noise=0.01, seed=200 + seed, seconds=140.0)
    rows = samples[::5].astype(np.float32)
    ude = tu.UDE(plant.physics, library=["omega"], settings={}, refine=False).fit(rows[:4000], t=float(t[5] - t[0]))
    chip = chip_of_model(ude)
    learner = native.NativeLearner(chip.config, chip.programs, "float32")
    if fitted:
        assert chip.start is not None
        learner.start(replace(chip.start, coefficients=0.8 * chip.start.coefficients))
    learner.push(rows[4000:])
    states = samples[-20_000::100]
    truth = plant.missing(states, 140.0)[:, list(chip.config.on)]
    return float(np.linalg.norm(learner.residual(states) - truth) / np.linalg.norm(truth))


def window_order() -> Figures:
    """Relative error of the streaming learner's residual: slow plants that are sampled fast, long and short."""
    for name, seconds in (("cooling", 200.0), ("cooling, short", 20.0), ("spring", 20.0)):
        t, rng = 0.005 * np.arange(round(seconds / 0.005)), np.random.default_rng(5)
        cooling = name.startswith("cooling")
        states = ["T"] if cooling else ["x", "v"]
        known, lacking = (["0.0"], "-0.02*T - 0.0004*T**2") if cooling else (["v", "-4*x"], "-0.3*v - 0.5*x**3")
        truth = tu.Physics(states, [*known[:-1], f"{known[-1]} + {lacking}"])
        x = free_run(known_dynamics(truth), [50.0] if cooling else [1.0, 0.0], t, np.ones(len(states)))
        ude = tu.UDE(tu.Physics(states, known), settings={}, refine=False, hidden=())
        ude.fit(x + 0.01 * x.std(axis=0) * rng.standard_normal(x.shape), t=0.005)
        visited = x[:: len(x) // 100]
        wanted = (truth.field(visited) - tu.Physics(states, known).field(visited))[:, -1]
        yield name, float(np.linalg.norm(ude.residual(visited)[:, -1] - wanted) / np.linalg.norm(wanted))


def unidentified() -> Figures:
    """Errors of the determined parameters (k, or k + a if both act alike; and c), next to an undetermined one."""
    for name, term, reach in (
        ("no effect", "a*x**9", 0.2),
        ("hardly any effect", "a*x**5", 0.5),
        ("alike", "a*sin(x)", 0.1),
    ):
        for seed in range(3):
            rng, t = np.random.default_rng(300 + seed), 0.01 * np.arange(2000)
            rhs = f"-k*x - c*v - {term}"
            truth = tu.Physics(["x", "v"], ["v", rhs], parameters={"k": 9.0, "c": 0.5, "a": 1.0})
            x = free_run(known_dynamics(truth), [reach, 0.0], t, np.ones(2))
            learned = {key: tu.Parameter(guess, learn=True) for key, guess in {"k": 6.0, "c": 1.0, "a": 2.0}.items()}
            physics = tu.Physics(["x", "v"], ["v", rhs], parameters=learned)
            ude = tu.UDE(physics, library=None, network=None)
            ude.fit(x + 0.02 * reach * rng.standard_normal(x.shape), t=0.01)
            found = {key: each.value for key, each in ude.model_.physics.parameters.items()}
            told = (found["k"] + found["a"]) / 10.0 if name == "alike" else found["k"] / 9.0
            yield f"{name}, seed {seed}: k", abs(told - 1.0) + 1e-5
            yield f"{name}, seed {seed}: c", abs(found["c"] / 0.5 - 1.0) + 1e-5


def switches() -> Figures:
    """Errors of free runs with dry friction and with a relay, against steps a thousand times shorter."""
    for name, rhs in (("dry friction", "-4*x - 0.5*sign(v) + cos(3*x)"), ("relay", "-sign(x) - 0.1*v")):
        dynamics, t = known_dynamics(tu.Physics(["x", "v"], ["v", rhs])), np.linspace(0.0, 5.0, 101)
        fine = free_run(dynamics, [1.3, 0.0], np.linspace(0.0, 5.0, 100_001), np.ones(2))[::1000]
        off = free_run(dynamics, [1.3, 0.0], t, np.ones(2)) - fine
        yield name, float(np.sqrt(np.mean(off**2))) + 1e-9


def extrapolation() -> Figures:
    """1 + number of wrong reports: outside the visited range but predicted well, or inside but predicted badly."""
    for name, plant in TUNING.items():
        rng = np.random.default_rng(0)
        t, Y, u, _ = zip(*(choice.record(plant, motion, rng) for motion in plant.training), strict=True)
        physics = choice.stated_physics(plant)
        ude = tu.UDE(physics, measured=plant.measured, refine=False).fit(list(Y), t=list(t), u=list(u))
        wrong = 0
        for motion in plant.held_out:
            held_out = choice.record(plant, motion, rng)
            outside = bool(outside_range(held_out[3], ude.physics.states, ude.diagnostics_["visited"], ()))
            wrong += outside != (choice.error(ude.simulate, plant, [held_out]) > 0.1)
        yield name, 1.0 + wrong


STUDIES = {
    study.__name__: study
    for study in (
        noise,
        stream_noise,
        feedback,
        jumps,
        intervals,
        network,
        window_order,
        unidentified,
        switches,
        extrapolation,
    )
}
