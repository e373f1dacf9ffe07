"""A fitted model in JAX: to differentiate, to compile, and to continue training inside a larger loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tinyude.data.extras import needed
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.programs import program_walk


@dataclass(frozen=True)
class JaxField:
    """dx/dt in JAX, as a function of the states, the inputs and what was learned.

    Attributes
    ----------
    field : callable
        `field(x, u=None, unknowns=None)`: dx/dt at states (..., states) and inputs (..., inputs). Works under jit,
        grad and vmap. Without `unknowns` the fitted values are used.
    unknowns : jax.Array
        Learned parameters, coefficients and weights, as one flat array: where further training starts.
    """

    field: Callable[..., Any]
    unknowns: Any

    def __call__(self, x: Any, u: Any = None, unknowns: Any = None) -> Any:
        return self.field(x, u, unknowns)


def to_jax(model: Model) -> JaxField:
    """The model in JAX.

    JAX computes in float32 unless `jax.config.update("jax_enable_x64", True)` was called before its first array.

    Parameters
    ----------
    model : Model
        A fitted model.

    Returns
    -------
    JaxField

    Raises
    ------
    TinyUDEError
        When JAX is not installed.
    """
    jnp = needed("jax.numpy", "jax")
    operations = {
        "add": jnp.add, "sub": jnp.subtract, "mul": jnp.multiply, "div": jnp.divide, "neg": jnp.negative,
        "atan": jnp.arctan, "asin": jnp.arcsin, "acos": jnp.arccos,
    }  # fmt: skip
    operations |= {op: getattr(jnp, op) for op in _SAME}
    program = model_program(model, unknowns=True)
    fitted = jnp.asarray(model.unknowns)
    inputs = model.physics.n_inputs

    def field(x: Any, u: Any = None, unknowns: Any = None) -> Any:
        x = jnp.asarray(x, dtype=float)
        held = jnp.broadcast_to(jnp.asarray(u if inputs else [], dtype=float), (*x.shape[:-1], inputs))
        learned = fitted if unknowns is None else jnp.asarray(unknowns)
        columns = [x[..., k] for k in range(x.shape[-1])] + [held[..., k] for k in range(inputs)]
        columns += [learned[k] for k in range(len(fitted))]  # list(learned) fails under jit beyond a hundred
        dx = program_walk(program, columns, operations)
        return jnp.stack([jnp.broadcast_to(value, x.shape[:-1]) for value in dx], axis=-1)

    return JaxField(field, fitted)


_SAME = ("sqrt", "sin", "cos", "tan", "exp", "log", "tanh", "sinh", "cosh", "abs", "sign")
