"""Long runs of exported boards on this computer, evaluated by telemetry: good minutes, a failing sensor, good minutes.

Plants and faults are those of `tinyude reproduce withstand`. The export is compiled with the core of the imported
package, so that a changed constant of core/src/service takes effect.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.experiments.studies import withstand
from tinyude.export import Chip
from tinyude.export.core_files import core_folder
from tinyude.export.packages import export_files
from tinyude.link.frames import FrameReader
from tinyude.link.messages import Health, Hello, decode_message

Array = NDArray[Any]
PLANTS = ("motor, angle alone", "heater")
FAULTS = ("none", "held", "noise x20", "offset drifts by 1.5 sd")
BEFORE, DURING, AFTER = 3.0, 1.0, 3.0  # minutes
END = BEFORE + DURING + AFTER
SOON = 1.0 / 6.0  # minutes
LATEST = 5  # samples between the observer's last step and a report
WORN = 0.8  # factor on the plant's terms that the board starts from
MAIN = r"""
#include "model.h"
#include <stdio.h>

static int send(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    return fwrite(bytes, 1, count, stdout) == count;
}

int main(void)
{
    static const tu_line line = {send, NULL};
    float row[MODEL_ROW];
    const uint32_t status = (uint32_t)(1.0f / MODEL_SAMPLE_PERIOD + 0.5f);
    if (model_start() != TU_OK) {
        return 1;
    }
    model_report(&line, 1u << 30, status, NULL);
    while (fread(row, sizeof row, 1, stdin) == 1) {
        (void)model_push(row);
        while (model_work(1000)) {
        }
    }
    return 0;
}
"""


@dataclass(frozen=True)
class Life:
    """Status reports: time in minutes, health of the worst channel, whether a sensor is flagged, the state's error.

    The error is the RMS over the states, each in units of its standard deviation.
    """

    minutes: Array
    worst: Array
    flagged: Array
    error: Array

    def between(self, first: float, last: float) -> Array:
        return (self.minutes > first) & (self.minutes <= last)


def lives(name: str) -> dict[str, Life]:
    """Runs of one plant by fault; the board starts from a model whose coefficients are too small."""
    plant = withstand.PLANTS[name]
    chip = withstand.fitted(plant, network=False)
    assert chip.start is not None
    start = replace(chip.start, coefficients=WORN * chip.start.coefficients)
    with tempfile.TemporaryDirectory() as folder:
        program = _built(replace(chip, start=start), Path(folder))
        return {fault: _lived(plant, program, withstand.FAULTS[fault]) for fault in FAULTS}


def figures() -> Iterator[tuple[str, float]]:
    """Figures of each plant; lower is better.

    The state's error in the first minute, with a wrong model; at the end; and after faults; how far the health of a
    sound board is from 1; and 1 plus the number of wrong reports: an alarm without a fault or three minutes after one,
    or no alarm in the last ten seconds of a fault.
    """
    alarm = threshold("WATCH")
    for name in PLANTS:
        found = lives(name)
        sound = found.pop("none")
        then = sound.between(END - 2.0, END)
        after = [life.error[life.between(END - 1.0, END)] for life in found.values()]
        wrong = int(np.sum(_alarms(sound, alarm)[then]))
        for life in found.values():
            wrong += int(np.sum(~_alarms(life, alarm)[life.between(BEFORE + DURING - SOON, BEFORE + DURING)]))
            wrong += int(np.sum(_alarms(life, alarm)[life.between(END - SOON, END)]))
        yield f"{name}: state, first minute", _rms(sound.error[sound.between(0.1, 1.0)])
        yield f"{name}: state", _rms(sound.error[then])
        yield f"{name}: state after faults", _rms(np.concatenate(after))
        yield f"{name}: health", float(np.exp(np.sqrt(np.mean(np.log(sound.worst[then]) ** 2))))
        yield f"{name}: reports misjudged", 1.0 + wrong


def threshold(name: str) -> float:
    """A health ratio of core/src/service/report_frames.c."""
    text = (core_folder() / "src/service/report_frames.c").read_text(encoding="utf-8")
    found = re.search(rf"\b{name} = TU_R\(([\d.]+)\)", text)
    assert found is not None
    return float(found[1])


def _alarms(life: Life, alarm: float) -> Array:
    return np.asarray(life.flagged | (life.worst > alarm))


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values**2)))


def _built(chip: Chip, folder: Path) -> Path:
    for path, text in (export_files(chip, "c", "model") | {"main.c": MAIN}).items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    subprocess.run(["make", "--silent", "CFLAGS=-std=c99 -O1 -ffp-contract=off"], cwd=folder, check=True)
    return folder / "model"


def _lived(plant: withstand.Plant, program: Path, fault: withstand.Rows) -> Life:
    sensed, u, states = withstand.faulty_stream(plant, fault, BEFORE, DURING, AFTER)
    rows = np.hstack([sensed, u]).astype(np.float32)
    sent = subprocess.run([program], input=rows.tobytes(), capture_output=True, check=True).stdout
    hello, reports = None, []
    for frame in FrameReader().feed(sent):
        message = decode_message(frame, hello)
        hello = message if isinstance(message, Hello) else hello
        if isinstance(message, Health):
            reports.append(message)
    ticks = np.array([each.tick for each in reports])
    minutes, told = ticks * plant.period / plant.minute, np.array([each.state for each in reports])
    good, spread = minutes <= BEFORE, states.std(axis=0)
    late = [_rms((told - states[ticks - 1 - back])[good] / spread) for back in range(LATEST)]
    off = (told - states[ticks - 1 - int(np.argmin(late))]) / spread  # the observer's last step may be some samples old
    return Life(
        minutes,
        np.array([each.worst for each in reports]),
        np.array([any(each.flags) for each in reports]),
        np.sqrt(np.mean(off**2, axis=1)),
    )
