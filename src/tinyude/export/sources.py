"""The generated C of an export: the same `src/` in every package."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from jinja2 import Environment, FileSystemLoader

from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.export.chip import Chip
from tinyude.export.codegen import c_literal, c_source, check_c_name, config_header
from tinyude.export.codegen.templates import source_environment
from tinyude.export.core_files import core_files
from tinyude.export.wire import LONGEST_SLICE, fifo_depth, fingerprint
from tinyude.model.equations import interval_factor
from tinyude.physics import Physics
from tinyude.physics.programs import program

SERVICE_VERSION = 1  # of tinyude_service.h
ROW_BYTES = 17  # of a row's frame beside its numbers: docs/telemetry.md
LINE_BYTES = 11_520  # a second, at 115,200 baud
CORE = "tinyude/"  # where the core lies beside the generated files
# <prefix>.h must not stand in for a header of C, C++, POSIX, the core or an example.
_TAKEN = {
    "assert", "complex", "ctype", "errno", "fenv", "float", "inttypes", "iso646", "limits", "locale", "math", "setjmp",
    "signal", "stdalign", "stdarg", "stdatomic", "stdbool", "stddef", "stdint", "stdio", "stdlib", "stdnoreturn",
    "string", "tgmath", "threads", "time", "uchar", "wchar", "wctype", "arduino", "main", "sensor", "storage",
    "tinyude", "tu", "alloca", "dirent", "dlfcn", "fcntl", "features", "glob", "malloc", "memory", "new", "poll",
    "pthread", "regex", "sched", "search", "semaphore", "spawn", "strings", "syslog", "termios", "unistd", "utime",
}  # fmt: skip
_DEVICES = re.compile(r"con|prn|aux|nul|com\d|lpt\d", re.IGNORECASE)  # no file of Windows is called so


def environment() -> Environment:
    templates = source_environment(FileSystemLoader(Path(__file__).parent / "templates"))
    templates.filters["c"] = lambda values: ", ".join(c_literal(value) for value in values)
    return templates


def prefix_of(name: str) -> str:
    """A C name made of a file's name."""
    letters = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")[:40]
    return letters if letters[:1].isalpha() else f"model_{letters}".rstrip("_")


def check_prefix(prefix: str) -> None:
    check_c_name(prefix)
    if prefix.lower() in _TAKEN or prefix.lower().startswith("tu_") or _DEVICES.fullmatch(prefix):
        raise TinyUDEError(f"The prefix {prefix!r} is taken by a header, the core or a device; give another --prefix.")


def learner_files(chip: Chip, prefix: str) -> dict[str, str]:
    """`src/` of a learner: its configuration, its physics, its model and the core."""
    arena = native.memory(chip.config, "float32")["total"]
    facts = chip_facts(chip, prefix) | {"service": service_facts(chip)}
    files = {
        f"src/{prefix}.h": _render("learner.h.jinja", facts),
        f"src/{prefix}.c": _render("learner.c.jinja", facts),
        f"src/{prefix}_config.h": config_header(chip.config, arena, prefix, CORE, native.host_bytes(chip.config)),
        f"src/{prefix}_known.c": c_source(chip.programs, prefix, CORE, chip.config),
    }
    if chip.start is not None:
        files[f"src/{prefix}_model.c"] = _render("model.c.jinja", facts)
    return files | {f"src/{CORE}{name}": text for name, text in core_files(inference_only=False).items()}


def predictor_files(chip: Chip, prefix: str) -> dict[str, str]:
    """`src/` of a predictor: the model's terms and weights as constants, and nothing that learns."""
    if chip.start is None:
        raise TinyUDEError("A predictor consists of a fitted model's weights; leave out --no-weights.")
    chip = chip.with_kept_terms()
    assert chip.start is not None
    physics, config = chip.physics, chip.config
    nothing = program([], [sp.Symbol(name) for name in (*physics.states, *physics.inputs)])
    network = bool(config.hidden) and bool(np.any(chip.start.network_on))
    facts = chip_facts(chip, prefix) | {
        "layers": _layers(chip.start.weights, config.sizes) if network else [],
        "wide": max(config.sizes) if network else 0,
        "seen_scale": np.concatenate([chip.start.x_scale, chip.start.u_scale])[list(config.sees)],
        "terms_count": len(chip.terms),
        "coefficients": chip.start.coefficients[config.parameters :].reshape(len(config.on), len(chip.terms)),
    }
    programs = replace(chip.programs, jacobian=nothing, sensitivity=nothing, outside=nothing)
    files = {
        f"src/{prefix}.h": _render("predictor.h.jinja", facts),
        f"src/{prefix}.c": _render("predictor.c.jinja", facts),
        f"src/{prefix}_known.c": c_source(programs, prefix, CORE),
    }
    return files | {f"src/{CORE}{name}": text for name, text in core_files(inference_only=True).items()}


def chip_facts(chip: Chip, prefix: str) -> dict[str, Any]:
    """Values of a chip for the templates."""
    return {
        "prefix": prefix,
        "chip": chip,
        "config": chip.config,
        "start": chip.start,
        "states": chip.physics.states,
        "inputs": chip.physics.inputs,
        "measured": chip.measured,
        "rates": _rates(chip),
        "texts": _texts(chip.physics),
    }


def service_facts(chip: Chip) -> dict[str, Any]:
    """Values of a learner for its service layer."""
    depth, config = fifo_depth(chip), chip.config
    row_bytes = ROW_BYTES + 4 * (3 * config.channels + config.inputs)
    row_ticks = math.ceil(2 * row_bytes / (LINE_BYTES * config.sample_period))
    return {
        "version": SERVICE_VERSION,
        "row_bytes": row_bytes,
        "row_ticks": row_ticks,
        "status_ticks": max(row_ticks, round(1.0 / config.sample_period)),
        "depth": depth,
        "slice": LONGEST_SLICE,
        "slice_samples": math.ceil(LONGEST_SLICE / 16e6 / chip.config.sample_period),
        "bytes": native.service_bytes(chip.config, depth),
        "host_bytes": native.service_bytes(chip.config, depth, on_chip=False),
        "save_bytes": native.NativeLearner(chip.config, chip.programs, "float32").save_bytes,
        "fingerprint": fingerprint(chip),
        "interval": interval_factor(chip.config.groups),
        "parameters": [*chip.parameters],
        "base": [*chip.parameters.values()],
        "terms": [str(term) for term in chip.terms],
    }


def _render(name: str, facts: dict[str, Any]) -> str:
    return environment().get_template(name).render(facts)


def _rates(chip: Chip) -> list[tuple[int, int]]:
    """States that no sensor gives, each with the state that it is the rate of, in an order that can be followed."""
    channel, order = chip.config.channel, chip.config.order
    found = [(i, j) for i in range(len(order)) for j in range(len(order)) if _is_rate(i, j, channel, order)]
    return sorted(found, key=lambda pair: order[pair[0]])


def _is_rate(i: int, j: int, channel: tuple[int, ...], order: tuple[int, ...]) -> bool:
    return order[i] > 0 and channel[i] == channel[j] and order[j] == order[i] - 1


def _texts(physics: Physics) -> list[str]:
    return [f"d({name})/dt = {text}" for name, text in zip(physics.states, physics.texts, strict=True)]


def _layers(weights: Any, sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    """Weights (out x in, row by row) and biases of each layer."""
    layers, place = [], 0
    for inputs, outputs in pairwise(sizes):
        count = outputs * (inputs + 1)
        layers.append({"inputs": inputs, "outputs": outputs, "weights": weights[place : place + count]})
        place += count
    return layers
