"""The device table: what it does without an emulator, and how its estimates are made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tinyude.experiments.board import cycles, device, emulator
from tinyude.experiments.experiment import Config, Result, plain

TRACE = """\
----------------
IN: tu_learner_step
0x00000100:  b410       push     {r4}
0x00000102:  ed93 0a00  vldr     s0, [r3]
0x00000106:  d1fb       bne      #0x102

Trace 0: 0x7f16200a4380 [00800400/00000100/00000010/ff020200] tu_learner_step
Trace 0: 0x7f16200a4380 [00800400/00000100/00000010/ff020200] tu_learner_step
----------------
IN: tu_adam_step
0x00000108:  ee80 0a00  vdiv.f32 s0, s0, s0
0x0000010c:  4770       bx       lr

Trace 0: 0x7f16200a5000 [00800400/00000108/00000010/ff020200] tu_adam_step
Trace 0: 0x7f16200a5000 [00800400/00000108/00000010/ff020200] board_print_count
Trace 0: 0x7f16200a5000 [00800400/00000100/00000010/ff020200] main
"""


def made_up(config: Config) -> Result:
    """A result such as a unit's, at once."""
    if "cycles_of" in config:
        return {"counted": 100, "instructions": 101.0, "cycles": 150.0, "mix": {"floating point": 60.0}}
    accuracy = {"error": 0.002 + config["noise"], "damping": [0.4], "rejected": 0.065}
    sizes = {"arena": 30_000, "stack": 1500, "ram": 32_000, "flash": 60_000, "update": 100, "sample": 10.0}
    return {**accuracy, "host": accuracy, **sizes, "updates": 8000}


@pytest.mark.parametrize("quick", [True, False])
def test_device_makes_notes_tables_and_figure_from_plain_results(quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "missing", lambda core="cortex-m4": [])
    units = device.units(quick)
    assert len({json.dumps(unit.config) for unit in units}) == len(units)
    outcomes = [(unit.config, made_up(unit.config)) for unit in units]
    summary = json.loads(json.dumps(plain(device.summarise(outcomes, quick)), allow_nan=False))
    assert all(note.endswith(".") for note in summary["notes"])
    assert any("1.00 to 1.00 times" in note for note in summary["notes"])
    levels, sizes, _ = device.tables(summary)
    assert all(len(row) == len(table.header) for table in device.tables(summary) for row in table.rows)
    assert len(levels.rows) == 1 + 2 * 2 * len(summary["noises"])
    assert {"pendulum, size 32k", "pendulum, size 16k, network alone"} <= {row[0] for row in sizes.rows}
    drawn = device.figure(summary)
    assert drawn is not None and len(drawn.axes) == 3


def test_device_says_what_is_missing_without_an_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "missing", lambda core="cortex-m4": ["qemu-system-arm"])
    assert device.units(quick=False) == []
    summary = device.summarise([], quick=False)
    assert summary["notes"] == [
        "Not run: an emulated board needs qemu-system-arm; tools/install_emulators.sh installs the tools."
    ]
    assert device.figure(summary) is None
    (table,) = device.tables(summary)
    assert [row[0] for row in table.rows] == ["paper's ESP32, v2"]


def test_read_trace_keeps_what_the_update_ran_through(tmp_path: Path) -> None:
    (tmp_path / "trace.log").write_text(TRACE)
    code, executed = cycles.read_trace(tmp_path / "trace.log")
    assert executed == [0x100, 0x100, 0x108]
    assert code[0x100].end == 0x108
    assert code[0x108].instructions == ["vdiv.f32 s0, s0, s0", "bx lr"]


def test_count_tells_a_branch_that_is_taken_from_one_that_is_not(tmp_path: Path) -> None:
    (tmp_path / "trace.log").write_text(TRACE)
    kinds, total = cycles.count(*cycles.read_trace(tmp_path / "trace.log"))
    assert kinds == {"loads and stores": 4, "branches": 3, "floating point": 1}
    assert total == 2 * (2 + 2) + cycles.TAKEN + cycles.NOT_TAKEN + 14


@pytest.mark.parametrize(
    ("instruction", "expected"),
    [
        ("adds r0, #1", 1), ("vmul.f32 s0, s1, s2", 1), ("vmla.f32 s0, s1, s2", 3), ("vfma.f32 s0, s1, s2", 3),
        ("vsqrt.f32 s0, s1", 14), ("ldr.w r0, [r1]", 2), ("strd r0, r1, [r2]", 3), ("vpush {d8, d9}", 5),
        ("pop.w {r4, r5, pc}", 4), ("vmov.f32 s0, #1.0", 1), ("bl #0x100", 0), ("bic r0, r1", 1),
    ],
)  # fmt: skip
def test_cycles_of_follows_the_table(instruction: str, expected: int) -> None:
    assert cycles.cycles_of(instruction) == expected
