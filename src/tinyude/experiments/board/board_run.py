"""One run of a learner on the emulated board, and of the same learner on the host, as plain data."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp

from tinyude import native
from tinyude.experiments.board import emulator
from tinyude.experiments.experiment import Config, Result
from tinyude.experiments.fits import make_system
from tinyude.export.boards.memory_presets import SMALL_STACK_BYTES, board_config
from tinyude.physics.library import linear_terms
from tinyude.reference.config import Config as LearnerConfig
from tinyude.systems import System
from tinyude.training.known import known_programs
from tinyude.training.session import Session, read_model

CORE = "cortex-m4"
MOST_SECONDS = 3600.0  # generous, for a busy machine
CALIBRATION = 10_000  # samples of a stream, but at most a quarter of it


def run_device(config: Config) -> Result:
    """The emulated board in float32, and the host in float64 with the same configuration, on the same stream."""
    system = make_system(config["system"])
    samples = system.stream(config["noise"], config["seed"], config["seconds"])[1].astype(np.float32)
    terms: list[sp.Expr] = linear_terms(system.physics) if config["preset"] == "default" and config["library"] else []
    chosen = _board_config(config, system, len(samples), terms)
    programs = known_programs(system.physics, terms, chosen.on)
    size = config["size"]
    limits = {"ram_bytes": size_bytes(size), "stack_bytes": SMALL_STACK_BYTES} if size else {}
    with tempfile.TemporaryDirectory() as folder:
        firmware = emulator.build_firmware(core_library(), chosen, programs, Path(folder), **limits)
        board = emulator.run(firmware, samples, MOST_SECONDS)
    host = native.NativeLearner(chosen, programs, "float64")
    host.push(samples)
    host.finish()
    session = Session(host, "native", chosen, terms, system.physics, 0.0, [])
    figures = board.figures
    streamed = figures["learning_samples"] // chosen.train_every  # updates during sampling
    own = figures["learning_instructions"] - streamed * figures["update_instructions"]
    return {
        **_accuracy(system, config["seed"], session, board.state),
        "host": _accuracy(system, config["seed"], session, host.state()),
        "arena": figures["arena_bytes"],
        "stack": figures["stack_bytes"],
        "ram": firmware.ram_bytes,
        "flash": firmware.flash_bytes,
        "update": figures["update_instructions"],
        "sample": own / figures["learning_samples"],
        "updates": board.state["updates"],
    }


def size_bytes(size: str) -> int:
    """Bytes of a named size, with k = 1000."""
    return 1000 * int(size.removesuffix("k"))


def _board_config(config: Config, system: System, samples: int, terms: list[sp.Expr]) -> LearnerConfig:
    settings: Config = {"updates": config["updates"]}
    if config["preset"] == "default":
        settings |= {"network_nodes": 1, "calibration": min(CALIBRATION, samples // 4)}
    if config["size"] is None:
        settings |= {"reservoir": config["reservoir"]}
    return board_config(
        system.physics, config["preset"], samples=samples, terms=terms, size=config["size"], seed=config["seed"],
        **settings,
    )  # fmt: skip


def _accuracy(system: System, seed: int, session: Session, state: dict[str, Any]) -> Result:
    model, states = read_model(session, state), system.grid(seed)
    return {
        "error": system.field_error(model.field, states),
        "damping": system.damping(model.residual, states),
        "rejected": float(np.sum(state["rejected"])) / state["windows"],
    }


@cache
def core_library() -> emulator.CoreLibrary:
    """Compiled once per process, in a folder that is removed with it."""
    _folders.append(tempfile.TemporaryDirectory())
    return emulator.compile_core(CORE, Path(_folders[-1].name))


_folders: list[tempfile.TemporaryDirectory[str]] = []
