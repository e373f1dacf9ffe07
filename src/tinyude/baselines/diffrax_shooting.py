"""Multiple shooting as it is usually written today: JAX, Diffrax and Optax, compiled for this machine.

The record, the windows, the network, its first weights and the schedule are those of MultipleShooting; the solver is
Diffrax's Tsit5 with one step an observation, in JAX's own float32. Needs the extra `tinyude[bench]`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Self

import numpy as np
import sympy as sp

from tinyude.baselines.adjoint import Shooting
from tinyude.baselines.multiple_shooting import RATE_FLOOR, MultipleShooting, Progress
from tinyude.baselines.shooting_record import Windows
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.network.adam import CLIP_NORM
from tinyude.reference.network.mlp import mlp_init, mlp_layers
from tinyude.reference.numeric.rng import rng_seed

PACKAGES = ("jax", "diffrax", "optax")
Field = Callable[[Any], Any]  # states to slopes, (windows, states) in JAX


def missing() -> list[str]:
    """The packages that are not installed."""
    return [name for name in PACKAGES if find_spec(name) is None]


class DiffraxShooting(MultipleShooting):
    """MultipleShooting with the descent in Diffrax; for physics without inputs.

    `diagnostics_["seconds"]` is the descent alone, `diagnostics_["compile_seconds"]` what XLA took before it.
    """

    def fit(self, Y: Any, t: Any, u: Any = None, progress: Progress | None = None) -> Self:
        if lacking := missing():
            raise TinyUDEError(f"DiffraxShooting needs {', '.join(lacking)}; pip install 'tinyude[bench]'.")
        if self.physics.n_inputs:
            raise TinyUDEError(f"DiffraxShooting takes no inputs ({', '.join(self.physics.inputs)}): leave them out.")
        super().fit(Y, t, u, progress)
        self.diagnostics_["compile_seconds"] = self.compile_seconds_
        self.diagnostics_["seconds"] -= self.compile_seconds_
        return self

    def _descend(self, windows: Windows, progress: Progress | None) -> Shooting:
        import jax
        import optax

        rng = rng_seed(self.random_state, stream=1)
        shooting = self._batch(windows, rng)
        rate = optax.cosine_decay_schedule(self.learning_rate, self.iterations, RATE_FLOOR)
        optimiser = optax.chain(optax.clip_by_global_norm(CLIP_NORM), optax.adam(rate))
        params = jax.numpy.asarray(mlp_init(self.sizes_, rng_seed(self.random_state)), "float32")
        state, observed = optimiser.init(params), jax.numpy.asarray(shooting.observed, "float32")
        loss = shooting_loss(shooting)

        def update(params: Any, state: Any, observed: Any) -> tuple[Any, Any, Any]:
            value, grad = jax.value_and_grad(loss)(params, observed)
            change, state = optimiser.update(grad, state)
            return optax.apply_updates(params, change), state, value

        began = time.perf_counter()
        step = jax.jit(update).lower(params, state, observed).compile()
        self.compile_seconds_ = time.perf_counter() - began
        losses = []
        for done in range(self.iterations):
            if self.redraw and done:
                shooting = self._batch(windows, rng)
                observed = jax.numpy.asarray(shooting.observed, "float32")
            params, state, value = step(params, state, observed)
            losses.append(float(value))  # waits for the result, so that the progress shown is real
            if progress is not None:
                progress(done + 1, self.iterations)
        self.params_ = np.asarray(params, dtype=float)
        self.history_ = {"update": np.arange(1, self.iterations + 1), "loss": np.array(losses)}
        if not np.isfinite(self.params_).all():
            raise TinyUDEError(f"The integration diverged with learning_rate {self.learning_rate}; lower it.")
        return shooting


def shooting_loss(shooting: Shooting) -> Callable[[Any, Any], Any]:
    """Squared error of the predicted states, in JAX: of parameters and of observations (steps + 1, windows, n)."""
    import diffrax
    import jax

    jnp = jax.numpy
    known = jax_field(shooting.physics)
    times = jnp.arange(shooting.steps + 1) * shooting.period
    in_scale, out_scale = jnp.asarray(shooting.in_scale), jnp.asarray(shooting.out_scale)

    def slope(_: Any, x: Any, params: Any) -> Any:
        act = x / in_scale
        *hidden, (weight, bias) = mlp_layers(params, shooting.sizes)
        for inner, offset in hidden:
            act = jnp.tanh(act @ inner.T + offset)
        return known(x).at[:, jnp.asarray(shooting.on)].add(out_scale * (act @ weight.T + bias))

    def loss(params: Any, observed: Any) -> Any:
        """All windows as one large state: with fixed steps that is what a solver runs fastest."""
        path = diffrax.diffeqsolve(
            diffrax.ODETerm(slope),
            diffrax.Tsit5(),
            t0=times[0],
            t1=times[-1],
            dt0=None,
            y0=observed[0],
            args=params,
            saveat=diffrax.SaveAt(steps=True),  # quicker than at given times, which it would interpolate
            stepsize_controller=diffrax.StepTo(ts=times),
            adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=shooting.steps),  # no step is computed twice
            max_steps=shooting.steps,
        )
        return (((path.ys - observed[1:]) / shooting.error_scale) ** 2).sum(axis=-1).mean()

    return loss


def jax_field(physics: Physics) -> Field:
    """The known field, from the same SymPy expressions as everything else."""
    import jax

    values = {name: parameter.value for name, parameter in physics.parameters.items()}
    symbols = [sp.Symbol(name) for name in physics.states]
    entries = sp.lambdify([symbols], [rhs.subs(values) for rhs in physics.rhs], modules="jax", cse=True)
    return lambda x: jax.numpy.stack([jax.numpy.broadcast_to(f, len(x)) for f in entries(x.T)], axis=-1)
