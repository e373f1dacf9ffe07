"""Model files: safetensors arrays with a JSON header. Reading one never executes anything in it."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from tinyude.errors import TinyUDEError
from tinyude.expressions import expression_text
from tinyude.model import Model
from tinyude.parsing import parse_expression
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.mlp import mlp_count

if TYPE_CHECKING:
    from tinyude.estimator import UDE

FORMAT = 1
_ARRAYS = (
    "weights", "network_on", "x_scale", "u_scale", "dx_scale", "coefficients", "errors", "parameter_errors",
)  # fmt: skip
_STATE = ("sigma", "step")
_NUMBERS = ("window_half", "window_spacing", "sigma_scale")
_RECORD = ("t", "Y", "u", "window_t", "x", "dx")


def save_model(ude: UDE, path: str | PathLike[str]) -> None:
    """Write atomically: a reader sees the old file or the new one, never half of one."""
    model = ude._fitted()
    state = ude._state_
    arrays = {name: np.ascontiguousarray(getattr(model, name), dtype=np.float64) for name in _ARRAYS}
    arrays |= {f"state.{name}": np.ascontiguousarray(state[name], dtype=np.float64) for name in _STATE}
    arrays |= {
        f"history.{name}": np.ascontiguousarray(values, dtype=np.float64) for name, values in ude.history_.items()
    }
    record = getattr(ude, "record_", {})
    arrays |= {f"record.{name}": np.ascontiguousarray(values, dtype=np.float64) for name, values in record.items()}
    header = {
        "format": FORMAT,
        "physics": model.physics.to_dict(),
        "terms": [expression_text(term) for term in model.terms],
        "config": {key: value for key, value in asdict(ude.config_).items() if key != "states"},
        "estimator": _settings(ude),
        "state": {name: float(state[name]) for name in _NUMBERS},
        "diagnostics": json.loads(json.dumps(ude.diagnostics_, default=_plain)),
    }
    content = to_bytes(arrays, {"tinyude": json.dumps(header)})
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.chmod(temporary, 0o644)
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise TinyUDEError(f"Cannot write {target}: {error.strerror}; choose a folder you may write to.") from None


def load(path: str | PathLike[str]) -> UDE:
    """The fitted UDE that was saved; it predicts, simulates, reports and exports as before."""
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise TinyUDEError(f"There is no file {path}.") from None
    except (SafetensorError, OSError, ValueError) as error:
        raise TinyUDEError(f"{path} is not a whole TinyUDE model ({error}); copy or save it again.") from None
    if "tinyude" not in metadata:
        raise TinyUDEError(f"{path} holds arrays, but no TinyUDE model; give a file written by UDE.save().")
    try:
        header = json.loads(metadata["tinyude"])
        version = header["format"]
        if not isinstance(version, int) or version > FORMAT:
            raise TinyUDEError(
                f"{path} has format {version}; this TinyUDE reads up to {FORMAT}: install a newer version."
            )
        return _restore(header, arrays)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        if isinstance(error, TinyUDEError):
            raise
        raise TinyUDEError(f"{path} is damaged ({type(error).__name__}: {error}); save the model again.") from None


def _restore(header: dict[str, Any], arrays: dict[str, Any]) -> UDE:
    from tinyude.estimator import UDE

    physics = Physics.from_dict(header["physics"])
    symbols = {name: sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    terms = tuple(parse_expression(text, symbols, smooth=False) for text in header["terms"])
    config = Config(**_tuples(header["config"]))
    model = Model(
        physics, config.on, config.sees, config.hidden, terms=terms, **{name: arrays[name] for name in _ARRAYS}
    )
    _check(model, config)
    ude = UDE(physics, **_tuples(header["estimator"]))
    ude.model_ = model
    ude.config_ = config
    ude._state_ = {name: arrays[f"state.{name}"] for name in _STATE} | header["state"]
    for name in ("window_half", "window_spacing"):
        ude._state_[name] = int(ude._state_[name])
    ude.history_ = {name: arrays[f"history.{name}"] for name in ("update", "loss")}
    ude.diagnostics_ = header["diagnostics"]
    if "record.t" in arrays:
        ude.record_ = {name: arrays[f"record.{name}"] for name in _RECORD}
    ude.n_features_in_ = config.channels
    return ude


def _check(model: Model, config: Config) -> None:
    """Shapes that do not fit together would fail later, in a place that explains nothing."""
    states, on, terms = model.physics.n_states, len(model.on), len(model.terms)
    wanted = {
        "weights": (mlp_count(config.sizes) if config.hidden else 0,),
        "network_on": (on,),
        "x_scale": (states,),
        "u_scale": (model.physics.n_inputs,),
        "dx_scale": (states,),
        "coefficients": (on, terms),
        "errors": (on, terms),
        "parameter_errors": (len(model.physics.learned),),
    }
    for name, shape in wanted.items():
        array = getattr(model, name)
        if array.shape != shape or array.dtype != np.float64:
            raise TinyUDEError(
                f"The model's {name} has shape {array.shape} where {shape} belongs; save the model again."
            )


def _settings(ude: UDE) -> dict[str, Any]:
    """Constructor arguments as JSON; library terms as text."""
    settings = {key: value for key, value in ude.get_params(deep=False).items() if key != "physics"}
    if settings["library"] is not None and not isinstance(settings["library"], str):
        settings["library"] = [item if isinstance(item, str) else expression_text(item) for item in settings["library"]]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """JSON knows no tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
