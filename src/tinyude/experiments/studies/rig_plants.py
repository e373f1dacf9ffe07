"""Plants of the simulated rigs: the true right-hand sides, and those that a user states.

Thresholds were set on the tuning seeds of `PLANTS`. `UNSEEN` are from other fields: tried blind once (seed 5000), after
which two rules were changed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Plant:
    """A plant: its true right-hand sides, and those that a user states."""

    states: tuple[str, ...]
    truth: tuple[str, ...]
    known: tuple[str, ...]
    parameters: dict[str, float]
    start: tuple[float, ...]
    period: float
    seconds: float
    drive: Callable[[Array, np.random.Generator], Array] | None = None  # values of the one input u
    measured: tuple[str, ...] | None = None
    undriven: tuple[str, ...] | None = None  # the known part without the input
    flipped: tuple[str, ...] | None = None  # the known part with a wrong sign
    angle: tuple[str, ...] = ()  # states in radians
    length: tuple[str, ...] = ()  # states in metres
    mass: str = ""  # a parameter in kilograms
    noise: tuple[float, float] = (0.001, 0.015)  # of the signals' spread, from and to


def steps(seconds: float, size: float, offset: float = 0.0) -> Callable[[Array, np.random.Generator], Array]:
    """Random levels around an offset that change about every `seconds`."""

    def drive(t: Array, rng: np.random.Generator) -> Array:
        count = int(t[-1] / seconds) + 2
        return offset + size * rng.uniform(-1.0, 1.0, count)[np.minimum((t / seconds).astype(int), count - 1)]

    return drive


def waves(base: float, size: float, offset: float = 0.0) -> Callable[[Array, np.random.Generator], Array]:
    """A sum of sines around `base` Hz, smooth."""

    def drive(t: Array, rng: np.random.Generator) -> Array:
        waves = [np.sin(2.0 * np.pi * base * f * t + rng.uniform(0.0, 6.28)) for f in (0.31, 0.7, 1.0, 1.7)]
        return offset + size * np.sum(waves, axis=0) / 2.0

    return drive


PLANTS: dict[str, Plant] = {
    "pendulum": Plant(
        ("theta", "omega"), ("omega", "-(g/L)*sin(theta) - 0.4*omega - 0.1*tanh(10*omega)"),
        ("omega", "-(g/L)*sin(theta)"), {"g": 9.81, "L": 0.7}, (1.6, 0.0), 0.005, 20.0,
        flipped=("omega", "(g/L)*sin(theta)"), angle=("theta", "omega"),
    ),
    "driven pendulum": Plant(
        ("theta", "omega"), ("omega", "-(g/L)*sin(theta) + u/(m*L**2) - 0.3*omega - 0.6*tanh(8*omega)"),
        ("omega", "-(g/L)*sin(theta) + u/(m*L**2)"), {"g": 9.81, "L": 0.5, "m": 0.4}, (0.3, 0.0), 0.004, 24.0,
        waves(0.9, 0.7), ("theta",), ("omega", "-(g/L)*sin(theta)"), ("omega", "-(g/L)*sin(theta) - u/(m*L**2)"),
        ("theta",), (), "m",
    ),
    "spring": Plant(
        ("x", "v"), ("v", "(u - k*x - 3*x**3 - 0.4*v)/m"), ("v", "(u - k*x)/m"), {"k": 20.0, "m": 1.3}, (0.2, 0.0),
        0.01, 40.0, waves(0.6, 6.0), None, ("v", "-k*x/m"), ("v", "(u + k*x)/m"), (), ("x", "v"), "m",
    ),
    "motor": Plant(
        ("i", "w"), ("(u - R*i - K*w)/La", "(K*i - 0.004*w - 0.05*tanh(0.8*w))/J"),
        ("(u - R*i - K*w)/La", "K*i/J"), {"R": 1.1, "K": 0.08, "La": 0.02, "J": 0.002}, (0.0, 0.0), 0.002, 12.0,
        steps(0.6, 12.0), None, ("(-R*i - K*w)/La", "K*i/J"), ("(u - R*i + K*w)/La", "K*i/J"),
    ),
    "tank": Plant(
        ("h",), ("(u - 0.12*sqrt(h) - 0.02*h)/A",), ("(u - 0.12*sqrt(h))/A",), {"A": 0.5}, (0.8,), 0.25, 400.0,
        waves(0.012, 0.05, 0.15), None, ("-0.12*sqrt(h)/A",), ("(u + 0.12*sqrt(h))/A",), (), ("h",),
    ),
    "heater": Plant(
        ("T",), ("(u - 1.2*(T - 20) - 0.002*(T - 20)**2)/C",), ("(u - 1.2*(T - 20))/C",), {"C": 30.0}, (25.0,), 0.5,
        900.0, steps(40.0, 60.0), None, ("-1.2*(T - 20)/C",), ("(-u - 1.2*(T - 20))/C",),
    ),
    "duffing": Plant(
        ("x", "v"), ("v", "u + a*x - 1.0*x**3 - 0.25*v"), ("v", "u + a*x - 1.0*x**3"), {"a": 1.0}, (1.0, 0.0), 0.02,
        80.0, waves(0.2, 0.5), ("x",), ("v", "a*x - 1.0*x**3"), ("v", "u + a*x + 1.0*x**3"), (), ("x",),
    ),
    "cart": Plant(
        ("x", "v"), ("v", "(u - 2.0*v - 1.5*tanh(20*v))/m"), ("v", "(u - 2.0*v)/m"), {"m": 2.0}, (0.0, 0.1), 0.005,
        25.0, steps(0.7, 12.0), None, ("v", "-2.0*v/m"), ("v", "(-u - 2.0*v)/m"), (), ("x", "v"), "m",
    ),
    "oscillator": Plant(
        ("x", "v"), ("v", "mu*(1 - x**2)*v - x - 0.2*x**3"), ("v", "mu*(1 - x**2)*v - x"), {"mu": 1.2}, (0.5, 0.0),
        0.02, 60.0, flipped=("v", "mu*(1 - x**2)*v + x"), length=("x", "v"),
    ),
    "drone": Plant(
        ("z", "v"), ("v", "u/m - g - 0.25*v - 0.1*v*sqrt(v**2 + 0.0001)"), ("v", "u/m - g"), {"m": 1.1, "g": 9.81},
        (2.0, 0.0), 0.01, 30.0, waves(0.5, 3.0, 10.8), ("z",), ("v", "-g"), ("v", "u/m + g"), (), ("z",), "m",
    ),
}  # fmt: skip

NOISY = (0.001, 0.05)

UNSEEN: dict[str, Plant] = {
    "two rooms": Plant(  # thermal: Celsius, watts; room b's heat loss to the outside is missing
        ("Ta", "Tb"), ("(u - 25*(Ta - 5) - 40*(Ta - Tb))/Ca", "(40*(Ta - Tb) - 15*(Tb - 5))/Cb"),
        ("(u - 25*(Ta - 5) - 40*(Ta - Tb))/Ca", "40*(Ta - Tb)/Cb"), {"Ca": 9e4, "Cb": 1.4e5}, (18.0, 15.0), 30.0,
        40000.0, steps(2500.0, 900.0, 900.0), None, ("(-25*(Ta - 5) - 40*(Ta - Tb))/Ca", "40*(Ta - Tb)/Cb"),
        ("(-u - 25*(Ta - 5) - 40*(Ta - Tb))/Ca", "40*(Ta - Tb)/Cb"), noise=NOISY,
    ),
    "reactor": Plant(  # chemical: a stirred tank, concentration and temperature over 300 K; cooling drives it
        ("c", "T"),
        ("q*(1 - c) - 0.6*exp(0.05*T)*c", "q*(10 - T) + 25*0.6*exp(0.05*T)*c - 0.8*(T - u)"),
        ("q*(1 - c) - 0.6*exp(0.05*T)*c", "q*(10 - T) - 0.8*(T - u)"), {"q": 1.0}, (0.5, 12.0), 0.05, 100.0,
        waves(0.25, 6.0, 8.0), None, ("q*(1 - c) - 0.6*exp(0.05*T)*c", "q*(10 - T) - 0.8*T"),
        ("q*(1 - c) + 0.6*exp(0.05*T)*c", "q*(10 - T) - 0.8*(T - u)"), noise=NOISY,
    ),
    "converter": Plant(  # electrical: an LC filter with a load that draws more at higher voltage; nothing is missing
        ("i", "v"), ("(u - Rs*i - v)/La", "(i - v/Rl)/Cap"), ("(u - Rs*i - v)/La", "(i - v/Rl)/Cap"),
        {"Rs": 0.4, "La": 1e-3, "Rl": 5.0, "Cap": 4e-4}, (0.0, 0.0), 2e-5, 0.12, steps(0.006, 6.0, 12.0), None,
        ("(-Rs*i - v)/La", "(i - v/Rl)/Cap"), ("(u - Rs*i + v)/La", "(i - v/Rl)/Cap"), noise=NOISY,
    ),
    "diode circuit": Plant(  # electrical: a capacitor charged through a resistor, discharged through a diode
        ("v",), ("((u - v)/R - 0.002*(exp(v/0.5) - 1))/Cap",), ("(u - v)/(R*Cap)",), {"R": 100.0, "Cap": 1e-4},
        (0.0,), 2e-4, 0.8, waves(12.0, 2.0, 0.5), None, ("-v/(R*Cap)",), ("(-u - v)/(R*Cap)",), noise=NOISY,
    ),
    "bioreactor": Plant(  # biological: biomass and substrate, Monod growth; death is forgotten
        ("x", "s"), ("0.5*s/(0.4 + s)*x - 0.08*x - u*x", "u*(Sin - s) - 0.5*s/(0.4 + s)*x/Yield"),
        ("0.5*s/(0.4 + s)*x - u*x", "u*(Sin - s) - 0.5*s/(0.4 + s)*x/Yield"), {"Sin": 5.0, "Yield": 0.5}, (0.8, 1.0),
        0.1, 200.0, steps(12.0, 0.12, 0.16), None, ("0.5*s/(0.4 + s)*x", "-0.5*s/(0.4 + s)*x/Yield"),
        ("0.5*s/(0.4 + s)*x + u*x", "u*(Sin - s) - 0.5*s/(0.4 + s)*x/Yield"), noise=NOISY,
    ),
    "predators": Plant(  # biological: prey limit each other, which is forgotten
        ("n", "p"), ("a*n - 0.9*n*p - 0.12*n**2", "-b*p + 0.7*n*p"), ("a*n - 0.9*n*p", "-b*p + 0.7*n*p"),
        {"a": 1.3, "b": 0.9}, (2.0, 0.6), 0.05, 60.0, flipped=("a*n + 0.9*n*p", "-b*p + 0.7*n*p"), noise=NOISY,
    ),
    "two carts": Plant(  # driven mechanical: positions measured, a damper between the carts is forgotten
        ("xa", "xb", "va", "vb"),
        ("va", "vb", "(u - k*(xa - xb) - 1.5*(va - vb) - 0.3*va)/ma", "(k*(xa - xb) + 1.5*(va - vb) - 8*xb)/mb"),
        ("va", "vb", "(u - k*(xa - xb) - 0.3*va)/ma", "(k*(xa - xb) - 8*xb)/mb"), {"k": 30.0, "ma": 1.0, "mb": 1.6},
        (0.1, 0.0, 0.0, 0.0), 0.01, 40.0, steps(0.8, 5.0), None,
        ("va", "vb", "(-k*(xa - xb) - 0.3*va)/ma", "(k*(xa - xb) - 8*xb)/mb"),
        ("va", "vb", "(-u - k*(xa - xb) - 0.3*va)/ma", "(k*(xa - xb) - 8*xb)/mb"),
        length=("xa", "xb", "va", "vb"), mass="mb", noise=NOISY,
    ),
    "car": Plant(  # vehicle: speed under traction; drag and rolling resistance are forgotten
        ("v",), ("(u - 0.42*v**2 - 160*tanh(v))/m",), ("u/m",), {"m": 1200.0}, (12.0,), 0.1, 400.0,
        steps(9.0, 1800.0, 900.0), None, ("0",), ("-u/m",), mass="m", noise=NOISY,
    ),
    "steering": Plant(  # vehicle: lateral speed and yaw rate at 20 m/s; the rear tyre's force saturates
        ("vy", "r"), ("-20*r + (-Cf*(vy/20 + 1.2*r/20 - u) - 60000*tanh((vy - 1.5*r)/20/0.15)*0.15)/1500",
                      "(-1.2*Cf*(vy/20 + 1.2*r/20 - u) + 1.5*60000*tanh((vy - 1.5*r)/20/0.15)*0.15)/2500"),
        ("-20*r + (-Cf*(vy/20 + 1.2*r/20 - u) - 60000*(vy - 1.5*r)/20)/1500",
         "(-1.2*Cf*(vy/20 + 1.2*r/20 - u) + 1.5*60000*(vy - 1.5*r)/20)/2500"), {"Cf": 55000.0}, (0.0, 0.0), 0.01, 40.0,
        waves(0.4, 0.05), None, ("-20*r + (-Cf*(vy/20 + 1.2*r/20) - 60000*(vy - 1.5*r)/20)/1500",
         "(-1.2*Cf*(vy/20 + 1.2*r/20) + 1.5*60000*(vy - 1.5*r)/20)/2500"),
        ("20*r + (-Cf*(vy/20 + 1.2*r/20 - u) - 60000*(vy - 1.5*r)/20)/1500",
         "(-1.2*Cf*(vy/20 + 1.2*r/20 - u) + 1.5*60000*(vy - 1.5*r)/20)/2500"), angle=("r",), noise=NOISY,
    ),
    "arm": Plant(  # driven mechanical: one joint, angle measured by an encoder; friction is forgotten
        ("q", "w"), ("w", "(u - m*9.81*0.3*cos(q) - 0.5*w - 0.4*tanh(20*w))/0.2"), ("w", "(u - m*9.81*0.3*cos(q))/0.2"),
        {"m": 1.5}, (-1.3, 0.0), 0.005, 30.0, waves(0.5, 2.0, 1.0), ("q",), ("w", "-m*9.81*0.3*cos(q)/0.2"),
        ("w", "(u + m*9.81*0.3*cos(q))/0.2"), angle=("q",), mass="m", noise=(0.0005, 0.005),
    ),
}  # fmt: skip
