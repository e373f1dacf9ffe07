"""Physics and the columns of a log, read from a TOML file; nothing in the file is ever executed."""

from __future__ import annotations

import difflib
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tinyude.errors import TinyUDEError, no_such_file
from tinyude.physics.holds import KINDS, Hold
from tinyude.physics.kinematics import residual_states
from tinyude.physics.parameter import Parameter, as_float
from tinyude.physics.physics import Physics

# The tables of the file; None where its keys are the user's own names.
_TABLES: dict[str, tuple[str, ...] | None] = {
    "states": None,
    "measured": None,
    "inputs": None,
    "parameters": None,
    "unmeasured": None,
    "time": ("column", "period", "scale"),
    "residual": ("on", "sees"),
    "angles": ("wrap",),
    "fit": ("library", "network", "hold", "window"),
}
_PARAMETER_KEYS = ("value", "learn", "min", "max")
_SIGNAL_KEYS = ("column", "scale", "wraps", "hold", "shift", "unit")
_UNMEASURED_KEYS = ("guess", "spread")
MAX_FILE = 200_000  # bytes
MAX_UNIT, MAX_COLUMN = 40, 1_000  # characters


@dataclass(frozen=True)
class Signal:
    """Where a signal is found in a log, and what is done to it."""

    column: str
    scale: float = 1.0
    wraps: float = 0.0  # the revolution by which an angle jumps; 0: it does not
    hold: Hold | None = None  # what an input does between samples; None: found by the fit
    unit: str = ""  # for labels


@dataclass(frozen=True)
class PhysicsFile:
    """A physics and how a log holds its signals."""

    physics: Physics
    measured: dict[str, str]  # the column of each measured state
    inputs: dict[str, str]  # the column of each input
    time: str | float  # the column of the time stamps, or the sample period in seconds
    residual_on: tuple[str, ...]  # the states whose rate the network corrects
    residual_sees: tuple[str, ...]  # the states and inputs the network is given
    wrapped: dict[str, float] = field(default_factory=dict)  # measured angles that jump, and by how much
    scales: dict[str, float] = field(default_factory=dict)  # what the values of a column are multiplied by
    holds: dict[str, Hold] = field(default_factory=dict)  # what inputs do between samples, where the file says so
    unmeasured: dict[str, tuple[float, float]] = field(default_factory=dict)  # guess and spread of unseen states
    units: dict[str, str] = field(default_factory=dict)  # of states and inputs, for labels
    fit: dict[str, Any] = field(default_factory=dict)  # settings of the estimator

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the log must have."""
        stamps = (self.time,) if isinstance(self.time, str) else ()
        return (*stamps, *self.measured.values(), *self.inputs.values())


def load_physics_file(path: str | Path) -> PhysicsFile:
    """Read a physics file, e.g.

        [states]                       # dx/dt of each state
        theta = "omega"
        omega = "-(g/L)*sin(theta) + tau/J"
        [measured]                     # the column of each; a state left out must be the rate of a measured one
        theta = "position"
        [inputs]
        tau = "torque"
        [parameters]
        g = 9.81
        L = { value = 0.5, learn = true, min = 0.1, max = 2.0 }
        J = 0.063
        [time]
        column = "time"                # or: period = 0.001
        [residual]                     # optional: where the network acts and what it sees
        on = ["omega"]
        sees = ["theta", "omega"]

    A signal can say more than its column: theta = { column = "angle", scale = 0.0174533, wraps = true } is read in
    degrees and jumps by a revolution, which is undone; wraps = 360: by 360 (after scaling). Time stamps in ms:
    [time] column = "t", scale = 0.001. [angles] wrap = ["theta"] is another way to say wraps = true.

    An input may say what it does between samples: tau = { column = "torque", hold = "linear" } (held, linear or cubic;
    shift = 1: logged a sample late). Otherwise the fit finds out. A state that is neither measured nor the rate of a
    measured one takes a guess: [unmeasured] x1 = { guess = 4.0, spread = 2.0 }.

    By default the network acts on every state whose rate is not just another state, and sees all states and inputs;
    every state is measured in a column of its own name, and the time is in the column "time".
    """
    if Path(path).exists() and not Path(path).is_file():
        raise TinyUDEError(f"{path} is not a regular file; give a physics file as tinyude init writes it.")
    try:
        with open(path, "rb") as file:
            content = file.read(MAX_FILE + 1)
        if len(content) > MAX_FILE:
            raise TinyUDEError(f"{path} has more than {MAX_FILE:,} bytes; a physics file states equations only.")
        data = tomllib.loads(content.decode("utf-8-sig"))
    except TinyUDEError:
        raise
    except FileNotFoundError:
        raise no_such_file(path) from None
    except OSError as error:
        raise TinyUDEError(
            f"Cannot read the physics file {path}: {error.strerror}; check the file and its permissions."
        ) from None
    except (ValueError, RecursionError) as error:
        raise TinyUDEError(
            f"{path} is not valid TOML: {error}; give a physics file as tinyude init writes it."
        ) from None
    try:
        return _physics_file(data)
    except TinyUDEError as error:
        raise TinyUDEError(f"{path}: {error}") from None


def _physics_file(data: Mapping[str, Any]) -> PhysicsFile:
    tables = {name: _table(data, name) for name in _TABLES}
    _check_known(data, _TABLES, "table")
    for name, keys in _TABLES.items():
        if keys is not None:
            _check_known(tables[name], keys, f"key of [{name}]")
    if not tables["states"]:
        raise TinyUDEError('There is no [states] table; give dx/dt of each state, e.g. theta = "omega".')
    inputs = {name: _signal(value, f"inputs.{name}") for name, value in tables["inputs"].items()}
    physics = Physics(
        states=list(tables["states"]),
        rhs=[_right_hand_side(text, name) for name, text in tables["states"].items()],
        inputs=list(inputs),
        parameters={name: _parameter(value, name) for name, value in tables["parameters"].items()},
    )
    unmeasured = {name: _guess(value, name, physics) for name, value in tables["unmeasured"].items()}
    measured = _measured(tables["measured"], physics, unmeasured)
    wrapped = _names(tables["angles"].get("wrap", []), tuple(measured), "angles.wrap")
    time, time_scale = _time(tables["time"])
    given = tables["residual"].get("on")
    on = None if given is None else _names(given, physics.states, "residual.on")
    acted_on = tuple(physics.states[i] for i in residual_states(physics, on, "default"))
    seen = (*physics.states, *physics.inputs)
    made = PhysicsFile(
        physics=physics,
        measured={name: signal.column for name, signal in measured.items()},
        inputs={name: signal.column for name, signal in inputs.items()},
        time=time,
        residual_on=acted_on,
        residual_sees=_names(tables["residual"].get("sees", list(seen)), seen, "residual.sees"),
        wrapped=dict.fromkeys(wrapped, math.tau) | {name: s.wraps for name, s in measured.items() if s.wraps},
        holds={name: signal.hold for name, signal in inputs.items() if signal.hold is not None},
        unmeasured=unmeasured,
        units={name: signal.unit for name, signal in (*measured.items(), *inputs.items()) if signal.unit},
        fit=fit_settings(tables["fit"]),
        scales={s.column: s.scale for s in (*measured.values(), *inputs.values(), Signal(str(time), time_scale))},
    )
    _check_columns_differ(made)
    return made


def _table(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = data.get(name, {})
    if not isinstance(table, dict):
        raise TinyUDEError(f"{name} is {table!r}; it must be a table: [{name}].")
    return table


def _check_known(given: Iterable[str], allowed: Iterable[str], kind: str) -> None:
    allowed = list(allowed)
    for key in given:
        if key not in allowed:
            close = difflib.get_close_matches(key, allowed, n=1)
            hint = f" (did you mean {close[0]}?)" if close else ""
            raise TinyUDEError(f"{key!r} is not a known {kind}{hint}; allowed are {', '.join(allowed)}.")


def _right_hand_side(value: Any, state: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise TinyUDEError(f'states.{state} is {value!r}; give its rate as text, e.g. {state} = "-0.1*{state}".')
    return value if isinstance(value, str) else repr(value)


def _column(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip() or not value.isprintable() or len(value) > MAX_COLUMN:
        raise TinyUDEError(
            f"{where} is {value!r}; give the name of a column as text, with at most {MAX_COLUMN:,} characters."
        )
    return value


def _signal(value: Any, where: str) -> Signal:
    """The name of a column, or a table that says more about it."""
    if not isinstance(value, dict):
        return Signal(_column(value, where))
    _check_known(value, _SIGNAL_KEYS, f"key of {where}")
    wraps = value.get("wraps", False)
    revolution = wraps * math.tau if isinstance(wraps, bool) else _factor(wraps, f"{where}.wraps")
    if revolution < 0.0 or (revolution and where.startswith("inputs")):
        raise TinyUDEError(f"{where}.wraps is {wraps!r}; only a measured angle wraps, by true or a positive number.")
    hold = _hold(value, where) if "hold" in value or "shift" in value else None
    scale = _factor(value.get("scale", 1.0), f"{where}.scale")
    unit = value.get("unit", "")
    if not isinstance(unit, str) or not unit.isprintable() or len(unit) > MAX_UNIT:
        raise TinyUDEError(f'{where}.unit is {unit!r}; give at most {MAX_UNIT} plain characters, e.g. "rad/s".')
    return Signal(_column(value.get("column"), f"{where}.column"), scale, revolution, hold, unit)


def fit_settings(table: Mapping[str, Any], where: str = "fit.") -> dict[str, Any]:
    """Settings of the estimator that a file, or a command line, may give; `where` leads their names in errors."""
    library = table.get("library", "auto")
    texts = isinstance(library, list) and library and all(isinstance(item, str) for item in library)
    if not texts and library not in ("auto", "rich", "none"):
        raise TinyUDEError(f"{where}library is {library!r}; use auto, rich, none, or at least one term as text.")
    for key, words in (("network", ("auto", "kernel", "mlp", "none")), ("hold", ("auto", *KINDS))):
        if table.get(key, "auto") not in words:
            raise TinyUDEError(f"{where}{key} is {table[key]!r}; use one of {', '.join(words)}.")
    window = table.get("window", 1.0)
    if not 0.0 < as_float(window) < math.inf:
        raise TinyUDEError(f"{where}window is {window!r}; give the longest window in seconds, above 0.")
    return dict(table)


def _hold(value: Mapping[str, Any], where: str) -> Hold:
    if not where.startswith("inputs"):
        raise TinyUDEError(f"{where} has a hold; only inputs have one.")
    try:
        return Hold(value.get("hold", "held"), value.get("shift", 0))
    except TinyUDEError as error:
        raise TinyUDEError(f"{where}: {error}") from None


def _factor(value: Any, where: str) -> float:
    if not 0.0 < abs(as_float(value)) < math.inf:
        raise TinyUDEError(f"{where} is {value!r}; give a number other than 0.")
    return float(value)


def _parameter(value: Any, name: str) -> Parameter:
    fields = value if isinstance(value, dict) else {"value": value}
    _check_known(fields, _PARAMETER_KEYS, f"key of parameters.{name}")
    if "value" not in fields:
        raise TinyUDEError(f"parameters.{name} has no value; write {name} = {{ value = 1.0, learn = true }}.")
    try:
        return Parameter(**fields)
    except TinyUDEError as error:
        raise TinyUDEError(f"parameters.{name}: {error}") from None


def _guess(value: Any, name: str, physics: Physics) -> tuple[float, float]:
    """Guess and spread of a state that is not measured."""
    _check_known([name], physics.states, "state in [unmeasured]")
    if not isinstance(value, dict) or set(value) != set(_UNMEASURED_KEYS):
        raise TinyUDEError(f"unmeasured.{name} is {value!r}; write {name} = {{ guess = 4.0, spread = 2.0 }}.")
    guess, spread = value["guess"], value["spread"]
    if not math.isfinite(as_float(guess)):
        raise TinyUDEError(f"unmeasured.{name}.guess is {guess!r}; give a number.")
    if _factor(spread, f"unmeasured.{name}.spread") < 0.0:
        raise TinyUDEError(f"unmeasured.{name}.spread is {spread!r}; give a number above 0.")
    return float(guess), float(spread)


def _measured(
    table: Mapping[str, Any], physics: Physics, unmeasured: Mapping[str, tuple[float, float]]
) -> dict[str, Signal]:
    """Where each measured state is; one that is left out must be the rate of a measured state."""
    if not table:
        return {name: Signal(name) for name in physics.states}
    _check_known(table, physics.states, "state in [measured]")
    measured = {name: _signal(table[name], f"measured.{name}") for name in physics.states if name in table}
    rate_of = dict(zip(physics.states, physics.kinematic, strict=True))
    rates = {physics.states[rate] for name in measured if (rate := rate_of[name]) is not None}
    for name in physics.states:
        if name not in measured and name not in rates and name not in unmeasured:
            raise TinyUDEError(
                f"The state {name} is not measured, nor is it the rate of a measured state; add its column to "
                f"[measured], a measured state whose rate is exactly {name}, or to [unmeasured] what you guess: "
                f"{name} = {{ guess = 4.0, spread = 2.0 }}."
            )
    return measured


def _time(table: Mapping[str, Any]) -> tuple[str | float, float]:
    """The column and its scale, or the sample period."""
    if "period" in table and len(table) > 1:
        raise TinyUDEError("[time] has a period and a column or scale; give the period alone.")
    if "period" not in table:
        return _column(table.get("column", "time"), "time.column"), _factor(table.get("scale", 1.0), "time.scale")
    period = table["period"]
    if not 0.0 < as_float(period) < math.inf:
        raise TinyUDEError(f"time.period is {period!r}; give the seconds between two samples, e.g. 0.001.")
    return float(period), 1.0


def _names(value: Any, allowed: tuple[str, ...], where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TinyUDEError(f'{where} is {value!r}; give a list of names, e.g. ["{allowed[0]}"].')
    _check_known(value, allowed, f"name for {where}")
    if len(set(value)) != len(value):
        raise TinyUDEError(f"{where} names one twice: {', '.join(value)}.")
    return tuple(value)


def _check_columns_differ(made: PhysicsFile) -> None:
    columns = made.columns
    for column in columns:
        if columns.count(column) > 1:
            raise TinyUDEError(f"The column {column!r} is used for two signals; each needs its own.")
