"""The compiled core from Python; nothing else imports it.

Calls release the interpreter lock: several learners train in threads at once. One learner is not thread-safe.
"""

from __future__ import annotations

import importlib
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude.errors import TinyUDEError
from tinyude.native.buffers import Buffers
from tinyude.physics.programs import Program
from tinyude.reference.config import BOUNDS, Config, config_error
from tinyude.reference.start import StartModel
from tinyude.training.known import KnownPrograms
from tinyude.training.operations import START_REJECTED, Engine

Array = NDArray[Any]
_MODULES = {"float32": "_core32", "float64": "_core64"}


def available() -> bool:
    """Whether the core was compiled when the package was installed."""
    return "missing" not in build_info()


def build_info() -> dict[str, Any]:
    """Build information for reports; under `missing`, why the core is not available."""
    try:
        cores = [_core(precision) for precision in _MODULES]
    except ImportError as error:
        return {"missing": str(error)}
    core = cores[0]
    return {
        "api_version": core.lib.TU_API_VERSION,
        "compiler": core.ffi.string(core.lib.tu_host_compiler()).decode(),
        "modules": [module.__name__ for module in cores],
    }


@cache
def _core(precision: str) -> Any:
    """The extension module; the wide-vector build if the processor supports it: faster, with the same bits."""
    name = f"tinyude.native.{_MODULES[precision]}"
    core = importlib.import_module(name)
    if core.lib.tu_host_has_v3():
        try:
            return importlib.import_module(f"{name}_v3")
        except ImportError:
            pass
    return core


def loaded(precision: str) -> Any:
    if precision not in _MODULES:
        raise TinyUDEError(f"precision is {precision!r}; use {' or '.join(map(repr, _MODULES))}.")
    try:
        return _core(precision)
    except ImportError as error:
        raise TinyUDEError(
            f"The compiled core is missing ({error}); install a C compiler and reinstall tinyude, "
            "or use engine='reference'."
        ) from None


def memory(config: Config, precision: str = "float32") -> dict[str, int]:
    """Bytes of a learner's arena by part, without creating it; `total` is what a board must reserve."""
    core = loaded(precision)
    parts = core.ffi.new("tu_memory *")
    if core.lib.tu_learner_memory(_native_config(core, config), parts) != core.lib.TU_OK:
        raise _config_error(config)
    return {name: int(getattr(parts, name)) for name, _ in core.ffi.typeof("tu_memory").fields if name != "host"}


def host_bytes(config: Config) -> int:
    """Bytes that the arena of a float32 learner takes on this host beyond a board's."""
    core = loaded("float32")
    return int(core.lib.tu_learner_bytes(_native_config(core, config))) - memory(config, "float32")["total"]


def service_bytes(config: Config, fifo_depth: int, on_chip: bool = True) -> int:
    """Bytes of the service around a learner, without its arena, for a queue of this many samples."""
    core = loaded("float32")
    return int(core.lib.tu_host_service_bytes(_native_config(core, config), fifo_depth, on_chip)) + 7 & ~7


class NativeKnown:
    """The known part as tapes that the core interprets."""

    def __init__(self, programs: KnownPrograms, precision: str = "float64") -> None:
        core = loaded(precision)
        self._ffi, self._lib, self._dtype = core.ffi, core.lib, np.dtype(precision)
        self._buffers = Buffers(core.ffi)
        self.states = len(programs.field.outputs)
        self.inputs = programs.field.n_inputs - self.states
        self._tapes = core.ffi.new("tu_tapes *")
        longest = 0
        for entry in fields(programs):
            program = getattr(programs, entry.name)
            self._fill(getattr(self._tapes, entry.name), program, entry.name)
            longest = max(longest, program.n_registers)
        self._tapes.registers = self._buffers.reals(np.zeros(longest), self._dtype)
        self.functions = core.ffi.new("tu_known *")
        core.lib.tu_tapes_known(self._tapes, self.functions)

    def evaluate(self, name: str, x: ArrayLike, u: ArrayLike | None = None) -> Array:
        """One of the functions at rows of states and inputs: (rows, outputs)."""
        tape = self._ffi.addressof(self._tapes, name)
        x, u = _state_rows(x, u, self.states, self.inputs, self._dtype)
        out = np.empty((len(x), tape.outputs_count), self._dtype)
        pointers = [self._ffi.from_buffer("tu_real[]", array) for array in (x, u, out)]
        self._lib.tu_tape_rows(tape, pointers[0], pointers[1], len(x), self._tapes.registers, pointers[2])
        return out

    def _fill(self, tape: Any, program: Program, name: str) -> None:
        if program.n_inputs != self.states + self.inputs:
            raise TinyUDEError(
                f"The {name} program has {program.n_inputs} inputs; it must have {self.states + self.inputs}, "
                "as the field: the states, then the inputs."
            )
        self._buffers.fill_tape(tape, program, self.states, self._dtype)


class NativeLearner(Engine):
    """One learner of the compiled core in its own arena; `tinyude.h` documents each call."""

    def __init__(self, config: Config, programs: KnownPrograms, precision: str = "float64") -> None:
        core = loaded(precision)
        self._ffi, self._lib, self._dtype = core.ffi, core.lib, np.dtype(precision)
        self._config = _native_config(core, config)
        self._columns = config.channels + config.inputs
        self._known = NativeKnown(programs, precision)
        if (self._known.states, self._known.inputs) != (config.states, config.inputs):
            raise TinyUDEError(
                f"The field has {self._known.states} states and {self._known.inputs} inputs, the configuration "
                f"{config.states} and {config.inputs}; make both from the same physics."
            )
        self.bytes: int = core.lib.tu_learner_bytes(self._config)
        if not self.bytes:
            raise _config_error(config)
        self._arena = core.ffi.from_buffer(np.zeros(-(-self.bytes // 8), np.uint64))  # aligned to 8 bytes
        handle = core.ffi.new("tu_learner **")
        status = core.lib.tu_learner_init(handle, self._config, self._known.functions, self._arena, self.bytes)
        if status != core.lib.TU_OK:
            raise TinyUDEError(f"The compiled core did not start (status {status} of tinyude.h) with {config}.")
        self._learner = handle[0]

    def start(self, model: StartModel) -> None:
        """Start from a fitted model; before the first sample."""
        native, alive = self._ffi.new("tu_model *"), []
        for name, entry in self._ffi.typeof("tu_model").fields:
            value = getattr(model, name)
            if entry.type.kind == "pointer":
                dtype = np.int32 if name == "network_on" else self._dtype
                alive.append(self._ffi.from_buffer(entry.type, np.ascontiguousarray(value, dtype)))
                value = alive[-1]
            setattr(native, name, value)
        if self.call("start", native) != self._lib.TU_OK:
            raise TinyUDEError(START_REJECTED.format(model))

    def call(self, name: str, *arguments: Any) -> Any:
        return getattr(self._lib, f"tu_learner_{name}")(self._learner, *arguments)

    def push(self, rows: ArrayLike) -> None:
        """Push samples in order: (count, channels + inputs)."""
        samples = _rows(rows, self._columns, "rows", self._dtype)
        self.call("push_many", self._ffi.from_buffer("tu_real[]", samples), len(samples))

    @property
    def save_bytes(self) -> int:
        """Bytes of a saved state: one of two slots."""
        return int(self._lib.tu_host_save_bytes(self._learner))

    def residual(self, x: ArrayLike, u: ArrayLike | None = None) -> NDArray[np.float64]:
        """N(x, u) of the averaged model at rows of states and inputs: (rows, residual states); 0 until calibrated."""
        x, u = _state_rows(x, u, self._config.states, self._config.inputs, self._dtype)
        out = np.empty((len(x), self._config.on_count), self._dtype)
        pointers = [self._ffi.from_buffer("tu_real[]", array) for array in (x, u, out)]
        self._lib.tu_residual_rows(self._learner, self._config, pointers[0], pointers[1], len(x), pointers[2])
        return out.astype(np.float64)

    def set_network(self, weights: ArrayLike, rate: float) -> bool:
        """Replace the weights and restart the schedule at this rate. False: they are not finite."""
        values = np.ascontiguousarray(weights, self._dtype)
        return bool(self.call("set_network", self._ffi.from_buffer("tu_real[]", values), rate) == self._lib.TU_OK)

    def take_losses(self) -> tuple[float, int]:
        """Sum and number of the losses since the last call."""
        total = self._ffi.new("tu_real *")
        count = int(self.call("take_losses", total))
        return float(total[0]), count

    def state(self) -> dict[str, Any]:
        """Copies of what `tu_view` shows, by its names."""
        view = self._ffi.new("tu_view *")
        self.call("view", view)
        lengths = self._lengths(view)
        state: dict[str, Any] = {}
        for name, entry in self._ffi.typeof("tu_view").fields:
            value = getattr(view, name)
            if name in lengths:
                dtype = np.dtype(np.int32) if name == "network_on" else self._dtype
                state[name] = self._copy(value, lengths[name], dtype)
            elif entry.type.kind == "array":
                state[name] = np.array(list(value), np.int64)
            elif name not in ("reservoir", "holdout"):
                state[name] = value
        state["changed_at"] = state["changed_at"][: state["changes"]]
        dtype = np.dtype(np.int16) if self._config.compact else self._dtype
        for name in ("reservoir", "holdout"):
            shape = (state.pop(f"{name}_count"), state.pop(f"{name}_width"))
            state[name] = self._copy(getattr(view, name), shape[0] * shape[1], dtype).reshape(shape)
        del state["params_count"], state["columns"]
        return state

    def memory(self) -> dict[str, int]:
        """Bytes by part; `total` and `host` together are the arena."""
        parts = self._ffi.new("tu_memory *")
        self._lib.tu_learner_memory(self._config, parts)
        return {name: int(getattr(parts, name)) for name, _ in self._ffi.typeof("tu_memory").fields}

    def _lengths(self, view: Any) -> dict[str, int]:
        config = self._config
        return {
            **dict.fromkeys(("sigma", "step"), config.channels),
            **dict.fromkeys(("x_scale", "dx_scale", "ddx_scale"), config.states),
            "u_scale": config.inputs,
            **dict.fromkeys(("params", "average"), view.params_count),
            **dict.fromkeys(("coefficients", "errors"), view.columns),
            "network_on": config.on_count,
        }

    def _copy(self, pointer: Any, count: int, dtype: np.dtype[Any]) -> Array:
        if not count:
            return np.zeros(0, dtype)
        return np.frombuffer(self._ffi.buffer(pointer, count * dtype.itemsize), dtype).copy()


def _config_error(config: Config) -> TinyUDEError:
    errors = filter(None, (config_error(name, getattr(config, name)) for name in BOUNDS))
    together = f"The compiled core does not accept this combination of settings: {config}; see the limits in tinyude.h."
    return TinyUDEError(next(errors, together))


def _native_config(core: Any, config: Config) -> Any:
    """`tu_config` filled by name, so that a field that is new on either side is not missed."""
    native = core.ffi.new("tu_config *")
    for name, entry in core.ffi.typeof("tu_config").fields:
        value = _config_value(config, name)
        if entry.type.kind == "array":
            if len(value) > entry.type.length:
                raise TinyUDEError(
                    f"{name} has {len(value)} entries and the compiled core takes {entry.type.length}; "
                    "make the model smaller or use engine='reference'."
                )
            value = list(value)
        try:
            setattr(native, name, value)
        except (OverflowError, TypeError) as error:
            raise TinyUDEError(f"{name} is {value!r}, which the compiled core cannot take: {error}.") from None
    return native


def _config_value(config: Config, name: str) -> Any:
    if name.endswith("_count"):
        return len(getattr(config, name.removesuffix("_count")))
    return getattr(config, name)


def _state_rows(
    x: ArrayLike, u: ArrayLike | None, states: int, inputs: int, dtype: np.dtype[Any]
) -> tuple[Array, Array]:
    """States and inputs side by side, in the layout that C expects."""
    x = _rows(x, states, "x", dtype)
    u = _rows(np.zeros((len(x), 0)) if u is None else u, inputs, "u", dtype)
    if len(u) != len(x):
        raise TinyUDEError(f"x has {len(x)} rows and u {len(u)}; give one row of inputs for each row of states.")
    return x, u


def _rows(values: ArrayLike, columns: int, what: str, dtype: np.dtype[Any]) -> Array:
    with np.errstate(over="ignore"):  # a sample too large for float32 becomes infinite, which the core handles
        rows = np.ascontiguousarray(values, dtype)
    if rows.ndim != 2 or rows.shape[1] != columns:
        raise TinyUDEError(f"{what} has shape {rows.shape}; it must be (rows, {columns}).")
    return rows
