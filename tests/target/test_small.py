"""Learners in the memory of a small chip: they fit, and reach what the paper reached in 61.3 kB."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.experiments.board import board_run, emulator
from tinyude.experiments.board.device import device_unit
from tinyude.export.boards.memory_presets import SMALL, SMALL_STACK_BYTES, board_config
from tinyude.physics.library import linear_terms
from tinyude.reference.config import Config
from tinyude.training.known import KnownPrograms, known_programs

PLANT = tu.systems.pendulum()
LINEAR = linear_terms(PLANT.physics)
RAM = {"32k": 32_000, "16k": 16_000}
PAPER_ERROR = 0.0022  # at 1 % noise
Record = Callable[[str, object], None]


def stream(seed: int) -> np.ndarray:
    return PLANT.stream(noise=0.01, seed=seed)[1].astype(np.float32)


def learner(size: str, terms: Sequence[sp.Expr], seed: int = 0) -> tuple[Config, KnownPrograms]:
    config = board_config(PLANT.physics, size=size, terms=terms, seed=seed)
    return config, known_programs(PLANT.physics, terms, config.on)


def on_host(size: str, terms: Sequence[sp.Expr], seed: int) -> native.NativeLearner:
    """The live stream in float32, whose bits are the board's."""
    host = native.NativeLearner(*learner(size, terms, seed), "float32")
    host.push(stream(seed))
    host.finish()
    return host


def field_error(host: native.NativeLearner, config: Config) -> float:
    def predict(x: np.ndarray) -> np.ndarray:
        field = np.array(PLANT.physics.field(x))
        field[:, list(config.on)] += host.residual(x)
        return field

    return PLANT.field_error(predict)


@pytest.mark.skipif(not native.available(), reason="the core is not compiled")
@pytest.mark.parametrize("terms", [LINEAR, []], ids=["library", "network alone"])
@pytest.mark.parametrize("size", SMALL)
def test_small_size_learns_as_well_as_the_paper(size: str, terms: list[sp.Expr], record_property: Record) -> None:
    config, _ = learner(size, terms)
    errors = [field_error(on_host(size, terms, seed), config) for seed in range(3)]
    assert max(errors) <= PAPER_ERROR
    told = ", ".join(f"{error:.2g}" for error in errors)
    record_property("figure", f"size {size}, {len(terms)} terms: field errors {told} at 1 % noise, seeds 0 to 2")


@pytest.mark.skipif(not emulator.available(), reason=f"an emulated board needs {', '.join(emulator.missing())}")
@pytest.mark.parametrize("size", SMALL)
def test_small_size_fits_its_ram_with_the_stack_it_needs(
    size: str, core_library: Callable[..., emulator.CoreLibrary], tmp_path: Path, record_property: Record
) -> None:
    """The whole minute on the board, and the bits of the host."""
    config, programs = learner(size, LINEAR)
    firmware = emulator.build_firmware(
        core_library("cortex-m4"), config, programs, tmp_path, RAM[size], SMALL_STACK_BYTES
    )
    board = emulator.run(firmware, stream(0))
    host = on_host(size, LINEAR, 0).state()
    assert board.state.keys() == host.keys()
    assert all(np.asarray(board.state[name]).tobytes() == np.asarray(host[name]).tobytes() for name in host)
    assert board.figures["stack_bytes"] < SMALL_STACK_BYTES
    record_property("figure", f"size {size}: {firmware.ram_bytes:,} bytes of RAM linked, arena, stack and all")


@pytest.mark.skipif(not emulator.available(), reason=f"an emulated board needs {', '.join(emulator.missing())}")
def test_run_device_finds_the_same_on_board_and_host(
    core_library: Callable[..., emulator.CoreLibrary], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_run, "core_library", lambda: core_library("cortex-m4"))
    config = device_unit(True, size="16k").config | {"seconds": 4.0, "updates": 100}
    found = board_run.run_device(config)
    assert found["updates"] == 100 and found["ram"] <= RAM["16k"]
    assert found["error"] == pytest.approx(found["host"]["error"], rel=0.05)
    assert 100 < found["sample"] < found["update"]


def test_board_config_rejects_an_unknown_size() -> None:
    with pytest.raises(TinyUDEError, match="size is '8k'; use one of 32k, 16k"):
        board_config(PLANT.physics, size="8k")


def test_board_config_lets_fields_override_a_size() -> None:
    config = board_config(PLANT.physics, size="16k", reservoir=100, hidden=(4,))
    assert (config.reservoir, config.hidden, config.holdout, config.compact) == (100, (4,), 64, True)
