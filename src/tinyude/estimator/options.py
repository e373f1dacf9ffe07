"""The constructor arguments of a UDE, typed and checked, and what they imply before any data is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp

from tinyude.data.streams import Stream, as_stream, wrap_revolutions
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.holds import KINDS, Hold, as_holds
from tinyude.physics.kinematics import measured_map, residual_states, seen_columns
from tinyude.physics.library import given_terms
from tinyude.reference.config import Config
from tinyude.training.presets import PRESETS
from tinyude.training.seed import check_random_state

if TYPE_CHECKING:
    from tinyude.estimator.ude import UDE

HIDDEN = (16, 16)  # layer sizes of the perceptron
MAX_HIDDEN, MAX_UNITS = 3, 256
NETWORKS = ("auto", "kernel", "mlp", None)


@dataclass(frozen=True)
class FitOptions:
    """The user's choices; `help(tinyude.UDE)` explains each."""

    physics: Physics
    hidden: Sequence[int]
    preset: str
    network: str | None
    library: str | Sequence[sp.Expr | str] | None
    keep: bool
    skip: bool
    measured: Sequence[str] | None
    on: Sequence[str] | None
    sees: Sequence[str] | None
    wraps: Sequence[str] | Mapping[str, float] | None
    updates: int | None
    reservoir: int | None
    batch: int | None
    engine: str
    precision: str
    settings: Mapping[str, Any] | None
    refine: bool | str
    hold: str | Mapping[str, Any]
    unmeasured: Mapping[str, Sequence[float]] | None
    window: float | None
    random_state: int | None

    @classmethod
    def of(cls, ude: UDE) -> FitOptions:
        return cls(**ude.get_params(deep=False))

    @property
    def layers(self) -> tuple[int, ...]:
        """Sizes of the perceptron's layers; empty without a network."""
        return () if self.network is None else tuple(int(size) for size in self.hidden)

    @property
    def learner_settings(self) -> dict[str, Any]:
        """Fields of the streaming learner's configuration that the user gave."""
        return {"updates": self.updates, "reservoir": self.reservoir, "batch": self.batch, **dict(self.settings or {})}

    def check(self) -> None:
        """Raise on invalid choices."""
        if self.preset not in PRESETS:
            raise TinyUDEError(f"preset is {self.preset!r}; use one of {', '.join(PRESETS)}.")
        if self.preset != "default" and not self.physics.smooth:
            raise TinyUDEError(
                f"The preset {self.preset} differentiates the physics twice, which is impossible with abs, sign, max "
                "and min; use the preset 'default', or a smooth form such as tanh(k*x) for sign(x)."
            )
        if self.network not in NETWORKS:
            raise TinyUDEError(f"network is {self.network!r}; use 'auto', 'kernel', 'mlp' or None.")
        if self.library is not None and self.library not in ("auto", "rich") and not _is_list(self.library):
            raise TinyUDEError(f"library is {self.library!r}; use 'auto', 'rich', a list of terms, or None.")
        if self.settings is not None and not isinstance(self.settings, Mapping):
            raise TinyUDEError(f"settings is {self.settings!r}; give a mapping of fields to values.")
        if self.window is not None and not (isinstance(self.window, Real) and 0.0 < self.window < np.inf):
            raise TinyUDEError(f"window is {self.window!r}; give the length of the longest window in seconds, above 0.")
        if self.keep and (self.library is None or isinstance(self.library, str)):
            raise TinyUDEError(f"keep=True needs a list of terms as library; library is {self.library!r}.")
        if self.refine not in (True, False, "thorough"):
            raise TinyUDEError(f"refine is {self.refine!r}; use True, False or 'thorough'.")
        if isinstance(self.hold, str) and self.hold != "auto":
            Hold(self.hold)
        if not isinstance(self.hold, str | Mapping):
            raise TinyUDEError(f"hold is {self.hold!r}; use 'auto', {', '.join(KINDS)}, or one of these by input.")
        if not (self.unmeasured is None or isinstance(self.unmeasured, Mapping)):
            raise TinyUDEError(f"unmeasured is {self.unmeasured!r}; give a guess and a spread by state: (1.0, 0.5).")
        check_random_state(self.random_state)
        _check_numbers(self.hidden, self.learner_settings)

    def check_names(self) -> None:
        """Raise if names, terms or holds do not belong to the physics; a model file may contain anything."""
        names = measured_map(self.physics, self.measured, self.unseen()).names
        residual_states(self.physics, self.on, self.preset)
        seen_columns(self.physics, self.sees)
        wrap_revolutions(self.wraps, names)
        if self.library is not None and not isinstance(self.library, str):
            given_terms(self.physics, list(self.library))
        if self.hold != "auto":
            as_holds(self.hold, self.physics.inputs)

    def wants_streaming(self, stream: Stream) -> bool:
        """Whether to use the streaming learner: because of the preset, other options, or the length of the record."""
        own = (self.updates, self.reservoir, self.batch, self.settings)
        perceptron = tuple(self.hidden) not in ((), HIDDEN) or self.network == "mlp" or not self.skip
        engine = (self.engine, self.precision) != ("native", "float64")
        asked = perceptron or engine or any(value is not None for value in own)
        return self.preset != "default" or asked or not isinstance(stream.runs, list)

    def asks_for_streaming(self) -> bool:
        """Whether the streaming learner's result may be kept: not if a kernel, or nothing, is to be learned."""
        return self.network != "kernel" and (self.network is not None or self.library is not None)

    def stream(self, Y: Any, t: Any, u: Any, shortest: int | None = None) -> Stream:
        """A record as a stream of runs on a time grid."""
        if not isinstance(self.physics, Physics):
            raise TinyUDEError(f"physics is {type(self.physics).__name__}; give a tinyude.Physics.")
        names = self.channels()
        if isinstance(Y, Stream):
            if Y.names != names or Y.longest.inputs.shape[1] != self.physics.n_inputs:
                raise TinyUDEError(
                    f"The stream holds {', '.join(Y.names)}; it must hold {', '.join(names)} and inputs."
                )
            return Y
        if t is None:
            raise TinyUDEError(
                "t is missing; give the sample period in seconds, one time stamp for each row, or the name of the "
                'column of times, as in fit(Y, t=1e-3) or fit(frame, t="time"); in a Pipeline fit(Y, ude__t=1e-3).'
            )
        mixed = bool(self.refine) and self.preset == "default" and shortest is None
        return as_stream(Y, t, u, names, self.physics.inputs, shortest, wrap_revolutions(self.wraps, names), mixed)

    def channels(self) -> tuple[str, ...]:
        """The states that are measured, in the order of the columns."""
        for name in ("measured", "on", "sees"):
            if (value := getattr(self, name)) is not None and not _is_list(value):
                raise TinyUDEError(f"{name} is {value!r}; give a list of names, e.g. {list(self.physics.states[:1])}.")
        return measured_map(self.physics, self.measured, self.unmeasured or ()).names

    def unseen(self) -> dict[str, tuple[float, float]]:
        """Guess and spread of the states that no channel measures."""
        found = {}
        for name, pair in (self.unmeasured or {}).items():
            if name not in self.physics.states:
                raise TinyUDEError(f"unmeasured names {name}; the states are {', '.join(self.physics.states)}.")
            try:
                guess, spread = (float(value) for value in pair)
            except (TypeError, ValueError):
                guess, spread = np.nan, np.nan
            if not (np.isfinite(guess) and 0.0 < spread < np.inf):
                raise TinyUDEError(f"unmeasured[{name!r}] is {pair!r}; give a guess and a spread above 0: (1.0, 0.5).")
            found[name] = (guess, spread)
        channel = measured_map(self.physics, self.measured, found).channel
        return {name: pair for name, pair in found.items() if channel[self.physics.states.index(name)] < 0}

    def check_all_measured(self, what: str) -> None:
        if unseen := self.unseen():
            raise TinyUDEError(
                f"{what} needs windows over every state, and {', '.join(unseen)} is not measured; use fit and simulate."
            )


def _is_list(value: Any) -> bool:
    """Whether it is a sequence other than a string."""
    return isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)


def _check_numbers(hidden: Sequence[int], given: Mapping[str, Any]) -> None:
    whole = isinstance(hidden, Sequence | np.ndarray) and all(isinstance(h, Integral) for h in hidden)
    if not whole or len(hidden) > MAX_HIDDEN or any(not 1 <= int(h) <= MAX_UNITS for h in hidden):
        raise TinyUDEError(f"hidden is {hidden!r}; give up to {MAX_HIDDEN} layer sizes between 1 and {MAX_UNITS}.")
    for name in ("updates", "reservoir", "batch"):
        value = given[name]
        if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
            raise TinyUDEError(f"{name} is {value!r}; give a whole number of at least 1.")
    unknown = set(given) - {f.name for f in fields(Config)}
    if unknown:
        raise TinyUDEError(
            f"settings names {', '.join(sorted(unknown))}; see the fields of tinyude.reference.config.Config."
        )
