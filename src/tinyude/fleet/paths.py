"""Logs found by a template such as `logs/{machine}/{date}.parquet`, here or on any storage that fsspec knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

import fsspec

from tinyude.errors import TinyUDEError

PERIODS = ("date", "period", "day", "week", "month", "time", "run")  # fields that tell when, not which machine
_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")
_WEEK = re.compile(r"(\d{4})-?W(\d{2})$")
_DATES = ("%Y-%m-%d", "%Y%m%d", "%Y-%m", "%Y_%m_%d")
SECONDS_A_DAY = 86_400.0


@dataclass(frozen=True)
class Unit:
    """One piece of work: the logs of one machine in one period.

    Parameters
    ----------
    machine, period
        Which machine, and when; the period is text as it stands in the path, "" where there is none.
    files
        Addresses of its logs, each a run of its own.
    labels
        Further fields of the template, e.g. the site.
    stamps
        Size and time of change (or entity tag) of each file, to tell an unchanged file without reading it.
    content
        A Parquet file's bytes where the log was given as a frame.
    """

    machine: str
    period: str = ""
    files: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    stamps: tuple[str, ...] = ()
    content: bytes | None = field(default=None, repr=False)


def find_units(template: str | Iterable[str], results: str = "") -> list[Unit]:
    """The units of work that the files of a template make up, ordered by machine and period.

    Parameters
    ----------
    template
        Path or address with `{machine}` and, where there are several logs a machine, `{date}` (or `{period}`, `{day}`,
        `{week}`, `{month}`, `{time}`, `{run}`). Other fields, e.g. `{site}`, become labels; `*` and `**` match
        anything. Several templates may be given.
    results
        Folder or address of the results, whose files are no logs although the template may fit them.

    Returns
    -------
    list of Unit

    Raises
    ------
    TinyUDEError
        If the template has no `{machine}`, or no file fits it.

    Examples
    --------
    >>> find_units("logs/{machine}/{date}.parquet")  # doctest: +SKIP
    """
    templates = [template] if isinstance(template, str) else list(template)
    matches = [match for text in templates for match in _matches(text, results)]
    places: dict[str, set[str]] = {}
    for _, _, values in matches:
        places.setdefault(values["machine"], set()).add(_place(values))
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for path, stamp, values in matches:
        name = values["machine"]
        machine = f"{_place(values)}/{name}" if len(places[name]) > 1 else name  # the same name at two sites
        period = " ".join(values[field] for field in PERIODS if field in values)
        entry = found.setdefault((machine, period), {"files": [], "labels": _labels(values)})
        entry["files"].append((path, stamp))
    if not found:
        raise TinyUDEError(f"No file fits {' or '.join(templates)}; check the folder and the ending.")
    units = []
    for (machine, period), entry in sorted(found.items()):
        files = sorted(entry["files"])
        units.append(
            Unit(
                machine=machine,
                period=period,
                files=tuple(path for path, _ in files),
                labels=tuple(sorted(entry["labels"].items())),
                stamps=tuple(stamp for _, stamp in files),
            )
        )
    return units


def _labels(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != "machine" and name not in PERIODS}


def _place(values: Mapping[str, str]) -> str:
    return "/".join(value for _, value in sorted(_labels(values).items()))


def _matches(template: str, results: str) -> Iterable[tuple[str, str, dict[str, str]]]:
    """Address, stamp and field values of every file that fits."""
    if "machine" not in _FIELD.findall(template):
        raise TinyUDEError(
            f"{template} has no {{machine}}; write it where the machine's name stands, e.g. "
            "'logs/{machine}/{date}.parquet'."
        )
    try:
        system, pattern = fsspec.url_to_fs(_FIELD.sub("*", template))
    except (ImportError, ValueError) as error:
        raise TinyUDEError(f"Cannot open {template}: {error}.") from None
    system.invalidate_cache()  # logs come in while a program runs
    matcher = _matcher(_root(system, template))
    there, folder = fsspec.url_to_fs(results) if results else (None, "")
    own = f"{folder.rstrip('/')}/" if type(there) is type(system) else "\0"
    for path, info in sorted(system.glob(pattern, detail=True).items()):
        fits = matcher.fullmatch(path)
        if fits and info.get("type") != "directory" and not path.startswith(own):
            stamp = f"{info.get('size')} {info.get('ETag') or info.get('mtime') or info.get('LastModified')}"
            values = {name: value for name, value in fits.groupdict().items() if not name.startswith("_")}
            yield system.unstrip_protocol(path) if "://" in template else path, stamp, values


def _root(system: Any, template: str) -> str:
    """The template as the file system spells paths; fields are kept."""
    kept = _FIELD.sub(lambda match: f"<{match[1]}>", template)
    return re.sub(r"<([A-Za-z_]\w*)>", r"{\1}", str(system._strip_protocol(kept)))


def _matcher(template: str) -> re.Pattern[str]:
    """A field twice in a template must have the same value both times."""
    text, seen = "", set()
    for part in re.split(r"(\{[A-Za-z_]\w*\}|\*\*/?|\*)", template):
        name = part[1:-1]
        if _FIELD.fullmatch(part):
            text += f"(?P={name})" if name in seen else f"(?P<{name}>[^/]+)"
            seen.add(name)
        elif part.startswith("**"):
            text += "(?:.*/)?" if part.endswith("/") else ".*"
        else:
            text += "[^/]*" if part == "*" else re.escape(part)
    return re.compile(text)


def frame_units(frames: Mapping[Any, Any]) -> list[Unit]:
    """Units of work from frames in memory: `{machine: frame}` or `{(machine, period): frame}`.

    A frame is anything that polars makes a DataFrame of: a polars or pandas DataFrame, an Arrow table, or a mapping of
    columns.
    """
    import io

    import polars as pl

    units = []
    for key, frame in frames.items():
        machine, period = key if isinstance(key, tuple) else (key, "")
        buffer = io.BytesIO()
        try:
            made = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
            made.write_parquet(buffer)
        except Exception as error:
            raise TinyUDEError(f"The log of {machine} is not a table ({error}); give a DataFrame.") from None
        units.append(Unit(str(machine), str(period), content=buffer.getvalue()))
    return sorted(units, key=lambda unit: (unit.machine, unit.period))


def period_days(periods: Iterable[str]) -> dict[str, float] | None:
    """Days since 1970 of every period, or None where one of them is no date (then only their order counts).

    Examples
    --------
    >>> period_days(["2026-03-01", "2026-03-08"])
    {'2026-03-01': 20513.0, '2026-03-08': 20520.0}
    >>> period_days(["before", "after"]) is None
    True
    """
    days = {period: _days(period) for period in set(periods)}
    if any(value is None for value in days.values()):
        return None
    return {period: value for period, value in sorted(days.items()) if value is not None}


def _days(period: str) -> float | None:
    if week := _WEEK.match(period):
        try:
            return float(date.fromisocalendar(int(week[1]), int(week[2]), 1).toordinal() - date(1970, 1, 1).toordinal())
        except ValueError:
            return None
    for pattern in _DATES:
        try:
            return (datetime.strptime(period, pattern) - datetime(1970, 1, 1)).total_seconds() / SECONDS_A_DAY
        except ValueError:
            continue
    try:
        moment = datetime.fromisoformat(period).replace(tzinfo=None)
    except ValueError:
        return None
    return (moment - datetime(1970, 1, 1)).total_seconds() / SECONDS_A_DAY
