"""
Predators that get full
=======================

Known: growth, death, and predation in proportion to prey and predators. Measured: both in a tank, counted every half
hour in four experiments. Missing: with plenty of prey, a predator eats less than in proportion. No simple term has that
form, so the first fit uses the nearest terms and a network. Its plot suggests a form, and the second fit learns the
constant in it.

.. code-block:: sh

    python examples/lotka_volterra.py [PICTURE.png]

.. image:: /images/example_lotka_volterra.png
"""

# sphinx_gallery_thumbnail_path = "images/example_lotka_volterra.png"

import numpy as np
from _plant import free_run_error, picture, run, sensors

import tinyude as tu

FULL = 0.25  # ml/thousand: saturation constant, which the first model lacks
KNOWN = {"a": 1.0, "b": 0.9, "c": 0.5, "d": 0.45, "K": 8.0}  # rates per day, densities in thousands/ml


def plant(x):
    prey, predators = x
    eaten = prey * predators / (1.0 + FULL * prey)
    growth = KNOWN["a"] * prey * (1.0 - prey / KNOWN["K"])
    return [growth - KNOWN["b"] * eaten, KNOWN["d"] * eaten - KNOWN["c"] * predators]


t = np.arange(0.0, 25.0, 0.02)  # days
starts = [2.0, 1.0], [6.0, 0.6], [1.0, 2.5], [4.0, 3.0]
counts = [sensors(run(plant, start, t), noise=0.02, seed=k) for k, start in enumerate(starts)]

proportional = tu.Physics(
    states=["prey", "predators"],
    rhs=["a*prey*(1 - prey/K) - b*prey*predators", "-c*predators + d*prey*predators"],
    parameters=KNOWN,
)
first = tu.UDE(proportional).fit(counts, t=0.02)
print(first)

eaten = "prey*predators/(1 + h*prey)"
saturated = tu.Physics(
    states=["prey", "predators"],
    rhs=[f"a*prey*(1 - prey/K) - b*{eaten}", f"-c*predators + d*{eaten}"],
    parameters={**KNOWN, "h": tu.Parameter(0.1, learn=True, min=0.0, max=2.0)},
)
second = tu.UDE(saturated).fit(counts, t=0.02)
print(second)

fresh = run(plant, [3.0, 0.4], t)
model = first.simulate(fresh[0], t)
print(f"free run of 25 days, library and network: RMSE / std = {free_run_error(model, fresh):.4f}")
print(f"free run of 25 days, saturation named: RMSE / std = {free_run_error(second.simulate(fresh[0], t), fresh):.4f}")

prey = np.linspace(0.1, 6.0, 101)
proportion = KNOWN["b"] * prey
learned = proportion - first.residual(np.column_stack([prey, 1.0 + 0.0 * prey]))[:, 0]
truth = proportion / (1.0 + FULL * prey)
known = run(proportional.field, fresh[0], t)
picture(
    "lotka_volterra",
    ("what a predator eats", "prey [1000/ml]", "prey eaten a day", prey, truth, proportion, learned),
    ("a free run", "time [days]", "prey [1000/ml]", t, fresh[:, 0], known[:, 0], model[:, 0]),
)
