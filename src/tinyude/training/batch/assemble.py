"""Joins the fits of all residual states into one model, with the covariance of all its unknowns."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.kernel import KernelNetwork
from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.physics import Physics
from tinyude.training.batch.library import expression
from tinyude.training.batch.state_fit import StateFit
from tinyude.training.batch.targets import Targets

Array = NDArray[Any]


def make_model(
    physics: Physics, on: tuple[int, ...], sees: tuple[int, ...], rotating: tuple[int, ...], targets: Targets,
    fits: dict[int, StateFit], parameter_errors: Array,
) -> Model:  # fmt: skip
    """The model of these fits."""
    library, shape_places = _library(on, targets.layout.names, fits)
    kernel = _kernel([fit.network[0] for fit in fits.values() if fit.network is not None])
    learned = parameter_errors if len(physics.learned) else np.zeros(0)
    model = Model(
        physics=physics,
        on=on,
        sees=sees,
        hidden=(),
        weights=np.zeros(0),
        network_on=np.zeros(len(on)),
        x_scale=_scale(targets.x),
        u_scale=_scale(targets.u),
        dx_scale=_scale(targets.dx),
        terms=library.terms,
        coefficients=library.coefficients,
        errors=np.zeros(library.coefficients.shape),
        parameter_errors=learned,
        angles=rotating,
        forms=library.forms if library.shapes else (),
        shapes=library.shapes,
        kernel=kernel,
    )
    covariance = _covariance(model, fits, learned, shape_places)
    errors = np.zeros(library.coefficients.shape)
    rows, columns = np.nonzero(library.coefficients)
    start = len(learned)
    errors[rows, columns] = np.sqrt(np.diag(covariance)[start : start + len(rows)])
    return replace(model, errors=errors, covariance=covariance)


def _library(
    on: tuple[int, ...], names: tuple[str, ...], fits: dict[int, StateFit]
) -> tuple[Terms, dict[int, list[int]]]:
    """The terms of all states in one part; and for each state the indices of its own shapes."""
    forms: list[sp.Expr] = []
    found: list[tuple[int, int, float]] = []
    shapes: dict[str, float] = {}
    places: dict[int, list[int]] = {}
    for row, state in enumerate(on):
        fit = fits[state]
        for index, entry in enumerate(fit.terms.entries):
            free = {}
            for owner, where in fit.terms.free:
                if owner == index:
                    name = f"shape_{len(shapes) + 1}"
                    places.setdefault(state, []).append(len(shapes))
                    shapes[name] = float(entry[where[0]].shape[where[1]])
                    free[where] = sp.Symbol(name, real=True)
            form = expression(entry, names, free)
            if form not in forms:
                forms.append(form)
            found.append((row, forms.index(form), float(fit.terms.coefficients[fit.parameters + index])))
    coefficients = np.zeros((len(on), len(forms)))
    for row, column, value in found:
        coefficients[row, column] = value
    return Terms(on, names, tuple(forms), coefficients, shapes), places


def _kernel(networks: list[KernelNetwork]) -> KernelNetwork | None:
    """The networks of several states as one."""
    if not networks:
        return None
    rows = {
        name: np.concatenate([getattr(network, name) for network in networks])
        for name in ("centres", "inverse_lengths", "weights", "linear")
    }
    on = tuple(network.on[0] for network in networks)
    first = networks[0]
    return KernelNetwork(on, first.sees, first.angles, first.offset, **rows)


def _covariance(model: Model, fits: dict[int, StateFit], learned: Array, shape_places: dict[int, list[int]]) -> Array:
    """Covariance of learned parameters, coefficients, shapes and kernel unknowns; states are independent."""
    rows, _ = np.nonzero(model.coefficients)
    first_shape = len(learned) + len(rows)
    first_kernel = first_shape + len(model.shapes)
    covariance = np.zeros((len(model.unknowns), len(model.unknowns)))
    covariance[: len(learned), : len(learned)] = np.diag(learned**2)
    kernel = model.kernel
    width = len(kernel.unknowns) // len(kernel.on) if kernel is not None else 0
    for row, state in enumerate(model.on):
        fit = fits[state]
        places: list[int] = (len(learned) + np.flatnonzero(rows == row)).tolist()
        places = [places[k] for k in _term_order(model, row, fit)]
        if fit.network is None:
            own = fit.terms.covariance
            places += [first_shape + k for k in shape_places.get(state, [])]
        else:
            assert kernel is not None
            own = fit.network[1]
            start = first_kernel + kernel.on.index(state) * width
            places += list(range(start, start + width))
        keep = slice(fit.parameters, fit.parameters + len(places))
        covariance[np.ix_(places, places)] = own[keep, keep]
    return covariance


def _term_order(model: Model, row: int, fit: StateFit) -> list[int]:
    """The index of each entry of a fit among the nonzero coefficients of its row."""
    values = model.coefficients[row][np.flatnonzero(model.coefficients[row])].tolist()
    return [values.index(float(c)) for c in fit.terms.coefficients[fit.parameters :]]


def _scale(values: Array) -> Array:
    rms = np.sqrt(np.mean(values**2, axis=0))
    return np.where(rms > 0.0, rms, 1.0)
