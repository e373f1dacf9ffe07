"""Whether a model file holds a valid model: a correct checksum excludes only accidental changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.data.streams import LONGEST_PERIOD, SHORTEST_PERIOD
from tinyude.errors import TinyUDEError, printable
from tinyude.model.model import Model
from tinyude.physics.holds import as_holds
from tinyude.physics.syntax import MAX_LENGTH
from tinyude.reference.config import BOUNDS, Config

LARGEST = 1e30  # of any number of a model: squares of larger ones overflow in float32
_SCALES = ("x_scale", "u_scale", "dx_scale")
_NOT_NEGATIVE = ("errors", "parameter_errors")
_BOUNDS = BOUNDS | {  # lowest and highest value of a setting; a batch fit may be larger than a learner
    "sample_period": (SHORTEST_PERIOD, LONGEST_PERIOD),
    "channels": (1, 64),
    "library_terms": (0, 10_000),
    "forced": (0, 10_000),
}


def check_texts(value: Any) -> None:
    """Check that every text of a header is safe to show in a terminal, on a page and in generated code."""
    if isinstance(value, str) and not (value.isprintable() and len(value) <= MAX_LENGTH):
        raise TinyUDEError(f"it holds the text {printable(value)[:40]!r}, which is not printable")
    if isinstance(value, dict):
        check_texts(list(value))
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            check_texts(item)


def check_plausible(model: Model, config: Config | None, found: Mapping[str, Any]) -> None:
    """Reject settings, numbers and stored findings that no fit can produce."""
    for name, (low, high) in _BOUNDS.items() if config is not None else ():
        if not low <= getattr(config, name) <= high:
            raise TinyUDEError(f"{name} is {getattr(config, name)}; it must lie between {low:g} and {high:g}")
    _check_residual(model)
    if config is not None:
        _check_roles(model, config)
    for name in (*_SCALES, "weights", "coefficients", *_NOT_NEGATIVE):
        if np.any(np.abs(getattr(model, name)) > LARGEST):
            raise TinyUDEError(f"{name} holds numbers beyond {LARGEST:g}")
    for name in _SCALES:
        if np.any(getattr(model, name) <= 0.0):
            raise TinyUDEError(f"{name} holds a scale that is not positive")
    for name in _NOT_NEGATIVE:
        if np.any(getattr(model, name) < 0.0):
            raise TinyUDEError(f"{name} holds a negative standard error")
    if not np.all(np.isin(model.network_on, (0.0, 1.0))):
        raise TinyUDEError("network_on holds values other than 0 and 1")
    _check_findings(model, found)


def _check_residual(model: Model) -> None:
    for name in ("on", "sees"):
        roles = getattr(model, name)
        if len(set(roles)) != len(roles):
            raise TinyUDEError(f"{name} is {list(roles)}; each may occur once")
    if not model.on:
        raise TinyUDEError("the residual acts on no state")


def _check_roles(model: Model, config: Config) -> None:
    for name, highest in (("rate_channel", config.channels), ("wrap", 1)):
        roles = getattr(config, name)
        if len(roles) not in (0, config.channels) or not all(0 <= role <= highest for role in roles):
            raise TinyUDEError(f"{name} is {list(roles)}, which does not belong to {config.channels} channels")
    for name, lowest in (("linear", 0), ("shift", -1)):
        holds = getattr(config, name)
        if len(holds) not in (0, config.inputs) or not all(lowest <= hold <= 1 for hold in holds):
            raise TinyUDEError(f"{name} is {list(holds)}, which does not belong to {config.inputs} inputs")
    if config.parameters != len(model.physics.learned):
        raise TinyUDEError("the configuration has a different number of parameters")


def _check_findings(model: Model, found: Mapping[str, Any]) -> None:
    """Check that stored equations and intervals agree with the numbers of the model."""
    held = {
        (model.physics.states[state], str(term)): float(model.coefficients[row, column])
        for row, state in enumerate(model.on)
        for column, term in enumerate(model.terms)
    }
    for term in model.physics.input_terms:
        own = model.physics.parameters
        held[term.input, str(term.shown(own))] = own[term.coefficient].value
    for entry in found["terms"]:
        value = held.get((entry["state"], entry["term"]))
        if value is None or not _same(value, entry["coefficient"]) or not entry["low"] <= value <= entry["high"]:
            raise TinyUDEError(f"its equations contradict its numbers: {entry['coefficient']} * {entry['term']}")
    names = {*model.physics.states, *model.physics.inputs}
    for state, shared in found.get("collinear", {}).items():
        told = all((state, term) in held for term in shared["terms"]) and names.issuperset(shared["of"])
        if not told or not shared["terms"]:
            raise TinyUDEError(f"its collinear terms of {state!r} are not the model's")
    for name, value, low, high in found["parameters"]:
        parameter = model.physics.parameters.get(name)
        if parameter is None or not _same(parameter.value, value) or not low <= value <= high:
            raise TinyUDEError(f"its equations contradict its numbers: {name} = {value}")
    warnings = found.get("warnings", [])
    if not isinstance(warnings, list) or not all(isinstance(text, str) for text in warnings):
        raise TinyUDEError(f"its warnings are {warnings!r}, not a list of text")
    for state, share in found["network"].items():
        if state not in model.physics.states or not 0.0 <= share <= 1.0:
            raise TinyUDEError(f"the network's share in {state} is {share}")
    as_holds(found.get("holds", {}), model.physics.inputs)
    for name, (low, high) in found["visited"].items():
        if not -LARGEST < low <= high < LARGEST:
            raise TinyUDEError(f"the visited range of {name} is {low} to {high}")


def _same(one: float, other: float) -> bool:
    return bool(abs(one - other) <= 1e-6 * max(abs(one), abs(other)))
