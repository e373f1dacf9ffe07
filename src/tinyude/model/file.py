"""Model files: safetensors arrays with a JSON header. Reading one never executes anything in it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, fields
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError, no_such_file
from tinyude.model.equations import describe
from tinyude.model.file_checks import LARGEST, check_plausible, check_texts
from tinyude.model.file_findings import check_kinds, check_pictures
from tinyude.model.kernel import KernelNetwork
from tinyude.model.model import Model
from tinyude.model.result import Calibration, FitResult
from tinyude.model.uncertainty import Spread
from tinyude.physics import Physics
from tinyude.physics.budget import with_time_limit
from tinyude.physics.expressions import expression_text
from tinyude.physics.parsing import parse_expression
from tinyude.physics.syntax import short
from tinyude.reference.config import Config
from tinyude.reference.network.mlp import mlp_count

FORMAT = 3
WITH_LEARNER = 2  # format of a model with the learner's configuration, which older versions read too
MAX_FILE = 1 << 30  # bytes
MAX_SECONDS = 30.0  # of CPU time, to read a model's expressions
_ARRAYS = (
    "weights", "network_on", "x_scale", "u_scale", "dx_scale", "coefficients", "errors", "parameter_errors",
)  # fmt: skip
_STATE = ("sigma", "step")
_NUMBERS = {"window_half": "half", "window_spacing": "spacing", "sigma_scale": "sigma_scale"}  # in the file, and here
_SPREAD = ("terms", "network")
_KERNEL = ("offset", "centres", "inverse_lengths", "weights", "linear")
_RECORD = ("t", "Y", "u", "window_t", "steady", "x", "window_u", "dx", "left", "rejected")
_RECORD_LATER = ("steady", "window_u", "dx", "left", "rejected")  # absent from older files
_KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,), "float": (int, float), "bool": (bool, int), "tuple[int, ...]": (tuple,),
}  # fmt: skip
DAMAGE = (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RecursionError)


def save_result(result: FitResult, arguments: Mapping[str, Any], path: str | PathLike[str]) -> None:
    """Write a fit's result and the estimator's arguments atomically: a reader sees the old file or the new one."""
    from tinyude import __version__

    model, config, found = result.model, result.config, result.calibration
    arrays = {name: np.ascontiguousarray(getattr(model, name), dtype=np.float64) for name in _ARRAYS}
    if found is not None:
        arrays |= {f"state.{name}": np.ascontiguousarray(getattr(found, name), dtype=np.float64) for name in _STATE}
    history = {name: np.ascontiguousarray(values, dtype=np.float64) for name, values in result.history.items()}
    record = {n: np.clip(np.asarray(v, np.float64), -LARGEST, LARGEST) for n, v in (result.record or {}).items()}
    arrays |= {f"history.{name}": values for name, values in history.items()}
    arrays |= {f"record.{name}": np.ascontiguousarray(values) for name, values in record.items()}
    if result.spread is not None:
        arrays |= {f"spread.{name}": np.ascontiguousarray(getattr(result.spread, name)) for name in _SPREAD}
    if model.covariance is not None:
        arrays["covariance"] = np.ascontiguousarray(model.covariance, dtype=np.float64)
    if model.kernel is not None:
        arrays |= {f"kernel.{name}": np.ascontiguousarray(getattr(model.kernel, name)) for name in _KERNEL}
    header = {
        "format": FORMAT if config is None else WITH_LEARNER,
        "provenance": {"tinyude": __version__, "files": result.diagnostics.get("files", [])},
        "physics": model.physics.to_dict(),
        "terms": [expression_text(term) for term in model.terms],
        "forms": [expression_text(form) for form in model.forms],
        "shapes": dict(model.shapes),
        "kernel": None if model.kernel is None else _kernel_header(model.kernel),
        "roles": {"on": model.on, "sees": model.sees, "hidden": model.hidden, "angles": model.angles},
        "config": None if config is None else {key: v for key, v in asdict(config).items() if key != "states"},
        "estimator": _settings(arguments, config),
        "state": {} if found is None else {key: float(getattr(found, name)) for key, name in _NUMBERS.items()},
        "diagnostics": result.diagnostics,
    }
    text = json.dumps(header, default=_plain)
    _check_writable(result, json.loads(text)["diagnostics"], record, history)
    content = to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)})
    write_whole(Path(path), content)


def _check_writable(
    result: FitResult, diagnostics: dict[str, Any], record: Mapping[str, Any], history: Mapping[str, Any]
) -> None:
    """Raise an error before a model is written that could not be read again."""
    try:
        check_kinds(diagnostics, result.model.physics)
        check_plausible(result.model, result.config, diagnostics)
        check_pictures(record or None, history, result.model.physics)
    except TinyUDEError as error:
        raise TinyUDEError(
            f"This model cannot be saved: {error}; check the physics, or give the library's terms in other units."
        ) from None


def read_result(path: str | PathLike[str]) -> tuple[FitResult, dict[str, Any]]:
    """A fit's result from a file, and the estimator's arguments; raises if the file is not a complete model."""
    if os.path.exists(path) and not os.path.isfile(path):
        raise TinyUDEError(f"{path} is not a regular file; give a file written by UDE.save().")
    if os.path.exists(path) and os.path.getsize(path) > MAX_FILE:
        raise TinyUDEError(f"{path} has more than {MAX_FILE:,} bytes; give a file written by UDE.save().")
    try:
        with safe_open(os.fspath(path), framework="numpy") as file:
            metadata = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (is no mapping)
    except FileNotFoundError:
        raise no_such_file(path) from None
    except (SafetensorError, OSError, ValueError) as error:
        raise TinyUDEError(
            f"{path} is not a whole TinyUDE model ({error}); give a file written by UDE.save() or tinyude "
            "fit --out, or copy it again."
        ) from None
    if "tinyude" not in metadata:
        raise TinyUDEError(f"{path} holds arrays, but no TinyUDE model; give a file written by UDE.save().")
    if metadata.get("sha256") != checksum(metadata["tinyude"], arrays):
        raise TinyUDEError(f"{path} is damaged (wrong checksum); copy or save the model again.")
    try:
        header = json.loads(metadata["tinyude"])
        version = header["format"]
        if isinstance(version, int) and version <= FORMAT:
            return with_time_limit(MAX_SECONDS, "The model", lambda: _restore(header, arrays), failures=())
    except DAMAGE as error:
        raise damaged(path, error) from None
    raise TinyUDEError(
        f"{path} has format {short(str(version), 40)}; this TinyUDE reads up to {FORMAT}: install a newer version."
    )


def damaged(path: str | PathLike[str], error: Exception) -> TinyUDEError:
    """The error for a file that is complete but has invalid contents."""
    reason = str(error) if isinstance(error, TinyUDEError) else f"{type(error).__name__}: {error}"
    return TinyUDEError(f"{path} is damaged ({short(reason, 300)}); save the model again.")


def checksum(header: str, arrays: dict[str, Any]) -> str:
    """Checksum of the whole file, so that any flipped bit is detected."""
    digest = hashlib.sha256(header.encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _restore(header: dict[str, Any], arrays: dict[str, Any]) -> tuple[FitResult, dict[str, Any]]:
    check_texts(header)
    physics = Physics.from_dict(header["physics"])
    symbols = {name: sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    terms = tuple(parse_expression(text, symbols, smooth=False) for text in header["terms"])
    shapes = {str(name): float(value) for name, value in header.get("shapes", {}).items()}
    named = symbols | {name: sp.Symbol(name, real=True) for name in shapes}
    forms = tuple(parse_expression(text, named, smooth=False) for text in header.get("forms", []))
    config = None if header["config"] is None else Config(**_tuples(header["config"]))
    roles = _roles(header, config, physics)
    arrays_of_model = {name: arrays[name] for name in _ARRAYS}
    model = Model(
        physics, roles["on"], roles["sees"], roles["hidden"], terms=terms, angles=roles["angles"], forms=forms,
        shapes=shapes, kernel=_kernel(header.get("kernel"), arrays, physics, roles["on"]),
        covariance=arrays.get("covariance"), **arrays_of_model,
    )  # fmt: skip
    if config is not None:
        _check_config(config, physics)
    _check(model, mlp_count(config.sizes) if config is not None and config.hidden else 0)
    library = header["estimator"].get("library")
    if isinstance(library, list) and not all(isinstance(term, str) for term in library):
        raise TinyUDEError(f"its library is {library!r:.60}, not a list of text")
    diagnostics = header["diagnostics"]
    check_kinds(diagnostics, physics)
    describe(model, diagnostics)  # raises if something is missing
    check_plausible(model, config, diagnostics)
    for name in (*physics.states, *physics.inputs):
        low, high = diagnostics["visited"][name]
        if not (np.isfinite(low) and np.isfinite(high)):
            raise TinyUDEError(f"the visited range of {name} is not finite")
    history = {name: arrays[f"history.{name}"] for name in ("update", "loss")}
    record = _record(arrays) if "record.t" in arrays else None
    check_pictures(record, history, physics)
    result = FitResult(
        model,
        diagnostics,
        config,
        None if config is None else _calibration(header["state"], arrays, config),
        history=history,
        record=record,
        spread=_spread(arrays, model) if "spread.terms" in arrays else None,
    )
    return result, _tuples(header["estimator"])


def _roles(header: dict[str, Any], config: Config | None, physics: Physics) -> dict[str, tuple[int, ...]]:
    """Outputs, inputs, hidden layers and angles of the residual."""
    if config is not None:
        return {"on": config.on, "sees": config.sees, "hidden": config.hidden, "angles": config.angles}
    roles = {name: tuple(int(k) for k in header["roles"][name]) for name in ("on", "sees", "hidden", "angles")}
    _within("on", roles["on"], physics.n_states)
    _within("sees", roles["sees"], physics.n_states + physics.n_inputs)
    _within("angles", roles["angles"], physics.n_states)
    if roles["hidden"]:
        raise TinyUDEError(f"hidden is {list(roles['hidden'])} in a model without a learner")
    return roles


def _check_config(config: Config, physics: Physics) -> None:
    for entry in fields(Config):
        value, kinds = getattr(config, entry.name), _KINDS[str(entry.type)]
        items = value if isinstance(value, tuple) else (float(value),) if type(value) in kinds else ()
        if type(value) not in kinds or not all(type(item) in (int, float) and np.isfinite(item) for item in items):
            raise TinyUDEError(f"{entry.name} is {value!r}, which is not of type {entry.type}")
    columns = physics.n_states + physics.n_inputs
    _within("on", config.on, physics.n_states)
    _within("sees", config.sees, columns)
    _within("channel", config.channel, config.channels)
    _within("order", config.order, physics.n_states)
    _within("hidden", config.hidden, 1 << 16)
    if not len(config.channel) == len(config.order) == physics.n_states or config.inputs != physics.n_inputs:
        raise TinyUDEError("the configuration belongs to other physics")
    if not (config.channels >= 1 and config.stride >= 1 and 1 <= config.poly <= 8):
        raise TinyUDEError("the configuration has impossible sizes")


def _within(name: str, values: tuple[int, ...], limit: int) -> None:
    if not all(0 <= value < limit for value in values):
        raise TinyUDEError(f"{name} is {list(values)}; each must be from 0 to {limit - 1}")


def _calibration(numbers: dict[str, Any], arrays: dict[str, Any], config: Config) -> Calibration:
    half, spacing, scale = (kind(numbers[key]) for key, kind in zip(_NUMBERS, (int, int, float), strict=True))
    if not (2 * half > config.poly and spacing >= 1 and half * spacing <= config.max_half):
        raise TinyUDEError(f"a window of half width {half} x {spacing} does not fit the configuration")
    if not (0.0 < scale < np.inf):
        raise TinyUDEError(f"sigma_scale is {scale}")
    found = {name: arrays[f"state.{name}"] for name in _STATE}
    for name, values in found.items():
        if values.shape != (config.channels,) or not np.all((values > 0.0) | ((values == 0.0) & (name == "step"))):
            raise TinyUDEError(f"{name} is {values}; it must be positive, one for each channel")
    return Calibration(half, spacing, found["sigma"], found["step"], scale)


def _check(model: Model, weights: int) -> None:
    """Check that array shapes agree, so that errors do not surface later without an explanation."""
    states, on, terms = model.physics.n_states, len(model.on), len(model.terms)
    wanted = {
        "weights": (weights,),
        "network_on": (on,),
        "x_scale": (states,),
        "u_scale": (model.physics.n_inputs,),
        "dx_scale": (states,),
        "coefficients": (on, terms),
        "errors": (on, terms),
        "parameter_errors": (len(model.physics.learned),),
    }
    if model.forms and len(model.forms) != terms:
        raise TinyUDEError(f"{len(model.forms)} forms for {terms} terms")
    if model.covariance is not None:
        wanted["covariance"] = (len(model.unknowns),) * 2
    for name, shape in wanted.items():
        array = getattr(model, name)
        if array.shape != shape or array.dtype != np.float64:
            raise TinyUDEError(f"{name} has shape {array.shape} where {shape} belongs")
        if not np.all(np.isfinite(array)):
            raise TinyUDEError(f"{name} holds non-finite numbers")


def _kernel_header(kernel: KernelNetwork) -> dict[str, Any]:
    return {"on": kernel.on, "sees": kernel.sees, "angles": kernel.angles}


def _kernel(
    header: dict[str, Any] | None, arrays: dict[str, Any], physics: Physics, residual: tuple[int, ...]
) -> KernelNetwork | None:
    """The kernel network of a file, its shapes checked."""
    if header is None:
        return None
    on, sees, angles = (tuple(int(k) for k in header[name]) for name in ("on", "sees", "angles"))
    if not on or not set(on) <= set(residual):
        raise TinyUDEError(f"the kernel acts on {list(on)}; the residual on {list(residual)}")
    _within("sees of the kernel", sees, physics.n_states + physics.n_inputs)
    if not set(angles) <= set(sees):
        raise TinyUDEError(f"the kernel's angles {list(angles)} are not among what it sees")
    kernel = KernelNetwork(on, sees, angles, **{name: arrays[f"kernel.{name}"] for name in _KERNEL})
    count, features, units = len(on), len(sees) + len(angles), kernel.weights.shape[-1]
    wanted = {
        "offset": (features,), "centres": (count, units, features), "inverse_lengths": (count, features),
        "weights": (count, units), "linear": (count, features + 1),
    }  # fmt: skip
    for name, shape in wanted.items():
        array = getattr(kernel, name)
        if array.shape != shape or array.dtype != np.float64 or not np.all(np.abs(array) <= LARGEST):
            raise TinyUDEError(
                f"kernel.{name} has shape {array.shape} where {shape} belongs, or numbers beyond {LARGEST:g}"
            )
    return kernel


def _record(arrays: Mapping[str, Any]) -> dict[str, Any]:
    """The excerpt of the record."""
    return {n: arrays[f"record.{n}"] for n in _RECORD if n not in _RECORD_LATER or f"record.{n}" in arrays}


def _spread(arrays: dict[str, Any], model: Model) -> Spread:
    terms, network = (arrays[f"spread.{name}"] for name in _SPREAD)
    features = model.features(np.zeros((1, model.physics.n_states)), np.zeros((1, model.physics.n_inputs))).shape[-1]
    groups, on = len(terms), len(model.on)
    if terms.shape != (groups, on, len(model.terms)) or network.shape != (groups, on, features):
        raise TinyUDEError("the intervals belong to another model")
    if not (np.all(np.isfinite(terms)) and np.all(np.isfinite(network))):
        raise TinyUDEError("the intervals hold non-finite numbers")
    return Spread(terms, network)


def _settings(arguments: Mapping[str, Any], config: Config | None) -> dict[str, Any]:
    """Constructor arguments as JSON; library terms as text."""
    settings = {key: value for key, value in arguments.items() if key != "physics"}
    if not isinstance(settings["random_state"], int | None):  # a generator: the seed that was drawn from it
        settings["random_state"] = 0 if config is None else config.seed
    if settings["library"] is not None and not isinstance(settings["library"], str):
        settings["library"] = [item if isinstance(item, str) else expression_text(item) for item in settings["library"]]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}


def _tuples(values: dict[str, Any]) -> dict[str, Any]:
    """JSON has no tuples."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)
