"""What a monitor says of a board, from the messages received."""

import numpy as np
import pytest

from tinyude.link.history import History
from tinyude.link.messages import Event, EventKind, Health, Hello, Name, Row

HELLO = Hello(
    fingerprint=7, model_numbers=3, sample_period=0.01, row_ticks=2, channels=2, inputs=1, parameters=1, terms=2,
    channel=(0, 0, 1), order=(0, 1, 0), on=(1, 2),
)  # fmt: skip
NAMES = [(0, 0, "rig"), (1, 0, "theta"), (1, 1, "omega"), (1, 2, "T"), (2, 0, "u"), (3, 0, "J"), (4, 0, "omega**3"),
         (4, 1, "u")]  # fmt: skip


@pytest.fixture
def history() -> History:
    made = History(clock=lambda: 100.0)
    made.take(HELLO)
    for group, index, text in NAMES:
        made.take(Name(group, index, 0.0, text))
    return made


def health(worst: float, flags: tuple[int, ...] = (0, 0)) -> Health:
    return Health(5, 1.0, worst, 0, flags, np.ones(2), np.zeros(3))


@pytest.mark.parametrize(
    ("worst", "flags", "level"),
    [
        (1.29, (0, 0), ("good", "healthy")), (1.31, (0, 0), ("watch", "watch")), (1.99, (0, 0), ("watch", "watch")),
        (2.01, (0, 0), ("bad", "wrong")), (1.0, (0, 2), ("bad", "sensor")),
    ],
)  # fmt: skip
def test_level_is_that_of_the_worst_channel(
    worst: float, flags: tuple[int, ...], level: tuple[str, str], history: History
) -> None:
    assert history.level() == ("note", "no report yet")
    history.take(health(worst, flags))
    assert history.level() == level


def test_names_are_those_of_the_board_once_it_has_sent_all(history: History) -> None:
    assert history.complete() and history.board == "rig"
    assert history.channels == ["theta", "T"]  # the states of derivative order 0
    assert [history.term(column) for column in range(5)] == [
        "J", "omega**3 in d(omega)/dt", "u in d(omega)/dt", "omega**3 in d(T)/dt", "u in d(T)/dt",
    ]  # fmt: skip
    assert history.seconds(250) == pytest.approx(2.5)
    fresh = History()
    fresh.take(HELLO)
    assert not fresh.complete() and fresh.channels == ["x0", "x2"]


EVENTS = {
    EventKind.CALIBRATED: (33.0, "good", "Calibrated", "33 samples"),
    EventKind.RECALIBRATED: (21.0, "watch", "Recalibrated", "21 samples"),
    EventKind.CHANGED: (1.0, "watch", "Change detected", "tick 1,200"),
    EventKind.GAP: (4.0, "watch", "Gap in the stream", "4 samples lost so far"),
    EventKind.SENSOR: (1.0 + 16.0 * 6.0, "bad", "T stuck and far from its prediction", "tick 1,200"),
    EventKind.SAVED: (3.0, "note", "State 3 saved", "tick 1,200"),
    EventKind.NOT_SAVED: (1.0, "bad", "State not saved", "rejected a write"),
    EventKind.RESTARTED: (0.0, "note", "Learner started over", "tick 1,200"),
}


@pytest.mark.parametrize("kind", EVENTS)
def test_events_are_told_with_their_level_and_value(kind: EventKind, history: History) -> None:
    value, level, title, detail = EVENTS[kind]
    history.take(Event(1200, kind, value))
    told = history.events[-1]
    assert (told.level, told.title) == (level, title) and detail in told.detail


@pytest.mark.parametrize(
    ("value", "level", "title"),
    [(2.01, "bad", "Health above 2"), (1.31, "watch", "Health above 1.3"), (1.29, "good", "Healthy again")],
)
def test_health_events_are_told_by_their_ratio(value: float, level: str, title: str, history: History) -> None:
    history.take(Event(1200, EventKind.HEALTH, value))
    assert (history.events[-1].level, history.events[-1].title) == (level, title)


def test_another_model_on_the_line_begins_a_new_history(history: History) -> None:
    history.take(health(1.0))
    history.take(Row(1, np.ones(2), np.ones(2), np.ones(2), np.ones(1)))
    history.take(HELLO)
    assert history.rows and history.health
    history.take(Hello(**{**vars(HELLO), "fingerprint": 8}))
    assert not history.rows and not history.health and history.events[-1].title == "Another model"
    assert history.rows_since(0) == [] and not history.complete()
