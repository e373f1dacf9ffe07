"""Logs found by a template such as `logs/{machine}/{date}.parquet`, here or on any storage that fsspec knows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from os import PathLike, fspath
from typing import Any

import fsspec

from tinyude.errors import TinyUDEError
from tinyude.fleet.periods import FIELDS, field_pattern, period_of

_FIELD = re.compile(r"\{([A-Za-z_]\w*)\}")


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
        Size and time of change (or entity tag) of each file, to recognise an unchanged file without reading it.
    content
        A Parquet file's bytes where the log was given as a frame.
    """

    machine: str
    period: str = ""
    files: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    stamps: tuple[str, ...] = ()
    content: bytes | None = field(default=None, repr=False)


def units_of(logs: Any, results: str = "") -> list[Unit]:
    """The units of work of templates (`find_units`) or of frames by machine (`frame_units`).

    Raises
    ------
    TinyUDEError
        If it is neither.
    """
    if isinstance(logs, Mapping):
        return frame_units(logs)
    texts = [logs] if isinstance(logs, (str, PathLike)) else list(logs) if isinstance(logs, (list, tuple)) else []
    if not texts or not all(isinstance(text, (str, PathLike)) for text in texts):
        raise TinyUDEError(
            f"The logs are a {type(logs).__name__}; give a template such as 'logs/{{machine}}/{{date}}.parquet', "
            "several of them, or frames by machine: {'arm-1': frame}."
        )
    return find_units([fspath(text) for text in texts], results)


def find_units(template: str | Iterable[str], results: str = "") -> list[Unit]:
    """The units of work that the files of a template make up, ordered by machine and period.

    Parameters
    ----------
    template
        Path or address with `{machine}` and, where there are several logs a machine, `{date}` (or `{period}`, `{day}`,
        `{week}`, `{month}`, `{year}`, `{hour}`, `{time}`, `{run}`). Other fields, e.g. `{site}`, become
        labels; `*` and `**` match anything. Several templates may be given.
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
        period = period_of(values)
        entry = found.setdefault((machine, period), {"files": [], "labels": _labels(values)})
        entry["files"].append((path, stamp))
    if not found:
        raise TinyUDEError(f"No file matches {' or '.join(templates)}; check the folder and the ending.")
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
    return {name: value for name, value in values.items() if name != "machine" and name not in FIELDS}


def _place(values: Mapping[str, str]) -> str:
    return "/".join(value for _, value in sorted(_labels(values).items()))


def _matches(template: str, results: str) -> Iterable[tuple[str, str, dict[str, str]]]:
    """Address, stamp and field values of every file that fits."""
    if "machine" not in _FIELD.findall(template):
        raise TinyUDEError(
            f"{template} has no {{machine}}; put it in place of the machine's name, e.g. "
            "'logs/{machine}/{date}.parquet'."
        )
    try:
        system, pattern = fsspec.url_to_fs(_FIELD.sub("*", template))
    except (ImportError, ValueError) as error:
        raise TinyUDEError(f"Cannot open {template}: {error}.") from None
    system.invalidate_cache()  # logs come in while a program runs
    matchers = [_matcher(_root(system, template), dated) for dated in (True, False)]
    there, folder = fsspec.url_to_fs(results) if results else (None, "")
    own = f"{folder.rstrip('/')}/" if type(there) is type(system) else "\0"
    for path, info in sorted(system.glob(pattern, detail=True).items()):
        fits = matchers[0].fullmatch(path) or matchers[1].fullmatch(path)
        if fits and info.get("type") != "directory" and not path.startswith(own):
            stamp = f"{info.get('size')} {info.get('ETag') or info.get('mtime') or info.get('LastModified')}"
            values = {name: value for name, value in fits.groupdict().items() if not name.startswith("_")}
            yield system.unstrip_protocol(path) if "://" in template else path, stamp, values


def _root(system: Any, template: str) -> str:
    """The template as the file system spells paths; fields are kept."""
    kept = _FIELD.sub(lambda match: f"<{match[1]}>", template)
    return re.sub(r"<([A-Za-z_]\w*)>", r"{\1}", str(system._strip_protocol(kept)))


def _matcher(template: str, dated: bool) -> re.Pattern[str]:
    """A field twice in a template must have the same value both times; where dated, periods must be whole dates.

    Where a sign between two fields, `{site}-{machine}`, is also within them, the machine's name is the longer one.
    """
    text, seen = "", set()
    fields = _FIELD.findall(template)
    for part in re.split(r"(\{[A-Za-z_]\w*\}|\*\*/?|\*)", template):
        name = part[1:-1]
        if _FIELD.fullmatch(part):
            usual = "[^/]+" if name == "machine" else "[^/]+?"
            pattern = (field_pattern(name, fields) if dated else None) or usual
            text += f"(?P={name})" if name in seen else f"(?P<{name}>{pattern})"
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
    if not frames:
        raise TinyUDEError("There is no frame; give one for each machine: {'arm-1': frame}.")
    for key, frame in frames.items():
        if isinstance(key, tuple) and len(key) != 2:
            raise TinyUDEError(f"{key} is not the name of a log; write 'machine' or ('machine', 'period').")
        machine, period = key if isinstance(key, tuple) else (key, "")
        buffer = io.BytesIO()
        try:
            made = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
            if not made.width:
                raise ValueError("it has no column")
            made.write_parquet(buffer)
        except Exception as error:
            raise TinyUDEError(f"The log of {machine} is not a table ({error}); give a DataFrame.") from None
        units.append(Unit(str(machine), str(period), content=buffer.getvalue()))
    return sorted(units, key=lambda unit: (unit.machine, unit.period))
