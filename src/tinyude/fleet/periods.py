"""When a log was recorded: what a path says of it, as a moment where it is a date, and in which order periods follow.

A period is text as it stands in the path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date, datetime

FIELDS = ("date", "period", "year", "month", "week", "day", "time", "hour", "run")  # of time, not of the machine
SECONDS_A_DAY = 86_400.0
_YEAR, _TWO, _APART = r"(?:19|20)\d\d", r"\d\d?", r"[-_. ]"
_CLOCK = r"(?:[T_ -](?P<hour>\d\d)(?:[-:_.]?(?P<minute>\d\d)(?:[-:_.]?(?P<second>\d\d)(?:\.\d+)?)?)?Z?)?"
_FORMS = (  # year first, compact, ISO week; year last
    rf"(?P<year>{_YEAR})(?P<apart>{_APART})(?P<month>{_TWO})(?:(?P=apart)(?P<day>{_TWO}))?{_CLOCK}",
    rf"(?P<year>{_YEAR})(?P<month>\d\d)(?P<day>\d\d)?{_CLOCK}",
    rf"(?P<year>{_YEAR})[-_ ]?W(?P<week>\d\d?)",
    rf"(?P<first>{_TWO})(?P<apart>{_APART})(?P<then>{_TWO})(?P=apart)(?P<year>{_YEAR}){_CLOCK}",
)
_DATES = tuple(re.compile(form) for form in _FORMS)
_DATED = ("date", "period", "month", "week", "time")  # fields that may hold a whole date
_BESIDE = {"month": "year", "week": "year", "time": "date"}  # fields that hold a part beside such a field


def field_pattern(name: str, fields: Iterable[str]) -> str | None:
    """A regular expression of the whole dates that a field of a template holds; None where it may hold anything.

    In `{machine}-{date}` it shows where the machine's name ends.
    """
    if name not in _DATED or _BESIDE.get(name) in set(fields):
        return None
    forms = [re.sub(r"\(\?P<(?!apart)\w+>", "(?:", form) for form in _FORMS]
    named = [re.sub(r"(P[<=])apart", rf"\1_{name}{number}", form) for number, form in enumerate(forms)]
    return "(?:" + "|".join(named) + ")"


def period_of(values: Mapping[str, str]) -> str:
    """The period from several fields of a path: year, month and day as one date.

    Examples
    --------
    >>> period_of({"machine": "arm-1", "year": "2026", "month": "3", "day": "01"})
    '2026-3-01'
    """
    given = dict(values)
    parts = [given.pop(name) for name in ("year", "month", "day") if name in given] if "year" in given else []
    if "year" in values and "week" in values and len(parts) == 1:
        parts = [f"{parts[0]}-W{given.pop('week').lstrip('Ww')}"]
    return " ".join([*(["-".join(parts)] if parts else []), *(given[name] for name in FIELDS if name in given)])


def period_days(periods: Iterable[str]) -> dict[str, float] | None:
    """Days since 1970 of every period, or None where one of them is no date (then only their order counts).

    Dates with the year last are read day first, and month first where that is no date.

    Examples
    --------
    >>> period_days(["2026-03-01", "2026-03-08"])
    {'2026-03-01': 20513.0, '2026-03-08': 20520.0}
    >>> period_days(["before", "after"]) is None
    True
    """
    texts = sorted(set(periods))
    for month_first in (False, True):
        days = {period: _days(period, month_first) for period in texts}
        if None not in days.values():
            return {period: value for period, value in days.items() if value is not None}
    return None


def ordered(periods: Iterable[str]) -> list[str]:
    """Periods as they follow each other: by date where all are dates, else by their text, numbers in it by size.

    Examples
    --------
    >>> ordered(["run-10", "run-9"])
    ['run-9', 'run-10']
    """
    texts = set(periods)
    days = period_days(texts) or {}
    return sorted(texts, key=lambda period: (days.get(period, 0.0), _natural(period)))


def _natural(period: str) -> list[tuple[int, str]]:
    parts = re.split(r"(\d+)", period)
    return [(int(part), part) if number % 2 else (0, part) for number, part in enumerate(parts)]


def _days(period: str, month_first: bool) -> float | None:
    fits = next((fits for form in _DATES if (fits := form.fullmatch(period))), None)
    try:
        moment = _moment(fits.groupdict(), month_first) if fits else datetime.fromisoformat(period)
    except ValueError:
        return None
    return (moment.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / SECONDS_A_DAY


def _moment(said: Mapping[str, str | None], month_first: bool) -> datetime:
    year = int(said["year"] or 0)
    if said.get("week"):
        return datetime.combine(date.fromisocalendar(year, int(said["week"] or 0), 1), datetime.min.time())
    months = (said["first"], said["then"]) if "first" in said else (said["day"] or "1", said["month"])
    day, month = (int(part or 1) for part in (reversed(months) if month_first and "first" in said else months))
    hour, minute, second = (int(said[name] or 0) for name in ("hour", "minute", "second"))
    return datetime(year, month, day, hour, minute, second)
