"""How strongly each input acts in the fitted model, compared with the known physics."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import sympy as sp

from tinyude.model import jackknife
from tinyude.model.model import Model
from tinyude.model.windows import Windows


@dataclass(frozen=True)
class InputEffect:
    """Effect of an input on a rate: the fitted model's over the known one, and its standard error.

    Attributes
    ----------
    share : float
        RMS of the larger of both effects over the RMS of the rate.
    reshaped : bool
        Whether a learned part gives the effect another shape, as a saturation or a dead zone does.
    """

    state: str
    name: str
    factor: float
    error: float
    share: float
    reshaped: bool = False


def input_effects(model: Model, seen: Windows) -> list[InputEffect]:
    """For every input of the known physics: rates at the recorded input minus those at its mean, by least squares."""
    physics, answer = model.physics, []
    for index, name in enumerate(physics.inputs):
        mean = seen.u.copy()
        mean[:, index] = seen.u[:, index].mean()
        known, whole = (
            np.asarray(field(seen.x, seen.u)) - np.asarray(field(seen.x, mean))
            for field in (physics.stated.field, model.field)  # learned terms may act through inputs
        )
        for i in model.on:
            own, net = (np.sqrt(seen.weight[:, i]) * effect[:, i] for effect in (known, whole))
            if _relative(model, i, name) or not np.any(own) or not (np.isfinite(own).all() and np.isfinite(net).all()):
                continue
            factor, error = jackknife.ratio(net, own)
            size = max(float(np.sqrt(np.mean(effect**2))) for effect in (own, net))
            share = size / max(float(seen.rms(seen.dx)[i]), 1e-300)
            answer.append(InputEffect(physics.states[i], name, factor, error, share, _reshaped(model, i, index)))
    return answer


def _reshaped(model: Model, state: int, index: int) -> bool:
    """Whether the learned part of a state's rate is no straight line in that input."""
    row, signal = model.on.index(state), sp.Symbol(model.physics.inputs[index], real=True)
    if any(sp.diff(model.terms[k], signal, 2) != 0 for k in np.flatnonzero(model.coefficients[row])):
        return True
    kernel, column = model.kernel, model.physics.n_states + index
    return kernel is not None and state in kernel.on and column in kernel.depends_on(kernel.on.index(state))


def _relative(model: Model, state: int, name: str) -> bool:
    """Whether learned terms depend on the input only by its difference from a state, as drag in wind does."""
    row, signal, shift = model.on.index(state), sp.Symbol(name, real=True), sp.Dummy(real=True)
    kept = [model.terms[k] for k in np.flatnonzero(model.coefficients[row]) if model.terms[k].has(signal)]
    pairs = [{signal: signal + shift, x: x + shift} for s in model.physics.states if (x := sp.Symbol(s, real=True))]
    return bool(kept) and all(any(term.xreplace(pair) == term for pair in pairs) for term in kept)
