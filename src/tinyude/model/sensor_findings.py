"""The findings about sensors, each with a remedy."""

from __future__ import annotations

from collections.abc import Iterator

from tinyude.model.evidence import Evidence, Sensor
from tinyude.model.quantities import percent
from tinyude.model.reason import CAUTION, NOTE, Reason

QUANTISED = 2.0  # steps over noise
COARSE = 0.02  # of a signal's spread: larger steps are reported
MOSTLY_NOISE = 0.5
STUCK = 0.01
CLIPPED = 0.02


def sensor_findings(evidence: Evidence) -> Iterator[Reason]:
    """Faults of the channels and inputs of a record."""
    for sensor in evidence.sensors:
        yield from _sensor(sensor)
    for name, shift in evidence.input_shifts.items():
        side = "before" if shift > 0 else "after"
        yield Reason(
            NOTE, f"{name} acts a sample {side} its row of the log; the fit allows for that.",
            "Check the logger, and give simulate and boards the same rows.", "input",
        )  # fmt: skip
    if evidence.uneven_noise > 1.2:
        yield Reason(
            NOTE, "The sensor noise is not even and white: it grows with speed, or the signal is filtered.",
            "Log raw data with exact time stamps.", "noise",
        )  # fmt: skip


def _sensor(sensor: Sensor) -> Iterator[Reason]:
    if sensor.held > 1.0:
        yield Reason(
            NOTE, f"{sensor.name} keeps every value for about {sensor.held:.3g} rows of the log; only rows with a new "
            "value are used.", "Log every signal when it is measured, with its own time stamp.", "held",
        )  # fmt: skip
    clipped = sensor.clipped > CLIPPED
    if sensor.step > QUANTISED * sensor.sigma and sensor.step > COARSE * sensor.spread:
        clipped = False  # the highest step
        yield Reason(
            CAUTION, f"{sensor.name} moves in steps of {sensor.step:.3g}, {percent(sensor.step / sensor.spread)} of "
            "its spread.", "A finer sensor would help most.", "quantised",
        )  # fmt: skip
    if clipped:
        yield Reason(
            CAUTION, f"{sensor.name} stays at its extreme value for {percent(sensor.clipped)} of the record.",
            "It seems to saturate: widen the sensor's range.", "clipped",
        )  # fmt: skip
    if sensor.stuck_at is not None and sensor.stuck - sensor.clipped * clipped > STUCK:
        begin, end = sensor.stuck_at
        yield Reason(
            CAUTION, f"{sensor.name} stands still for {percent(sensor.stuck)} of the record, longest from {begin:.4g} "
            f"to {end:.4g} s.", "Check the sensor and its cable; those stretches are not used.", "stuck",
        )  # fmt: skip
    if sensor.revolution:
        yield Reason(
            CAUTION, f"{sensor.name} jumps by about {sensor.revolution:.4g} like an angle that wraps.",
            f"Say so: wraps = {'true' if sensor.revolution < 7.0 else '360'} in the physics file, or UDE(wraps=...).",
            "wraps",
        )  # fmt: skip
    if sensor.sigma > MOSTLY_NOISE * sensor.spread:
        yield Reason(
            CAUTION, f"{sensor.name} hardly rises above its noise.", "Excite the system more strongly.", "noise",
        )  # fmt: skip
