"""ROS 1 and ROS 2 bags and MCAP files: fields of topics as columns, e.g. `/joint_states.position[0]`.

A sample's time is the stamp of its message's header, when it was measured; without one, when it was recorded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.extras import needed
from tinyude.data.recordings import Batch, Table, aligned, base_of
from tinyude.errors import TinyUDEError

MESSAGES = 5_000  # taken together
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
Messages = Iterator[tuple[str, int, Any]]  # topic, time of recording in nanoseconds, message


def iter_ros_log(
    path: Path, columns: Sequence[str], rows: int, time: str | None, held: Collection[str]
) -> Iterator[Table]:
    """Columns of a bag or an MCAP file in pieces; `time` names the topic whose stamps make the rows."""
    with (_mcap if path.suffix.lower() == ".mcap" else _bag)(path) as (topics, start, messages):
        channel_of = {column: _topic_of(column, topics, path) for column in columns}
        signals = {column: topic for column, topic in channel_of.items() if column != time}
        for table in aligned(
            _batches(messages(set(channel_of.values())), signals, start, path),
            signals,
            base_of(channel_of, columns, time),
            held,
            rows,
        ):
            stamps = table.pop("")
            yield table if time is None else {time: stamps, **table}


@contextmanager
def _bag(path: Path) -> Iterator[tuple[list[str], int, Any]]:
    """Topics, start and messages of a ROS 1 file, or of a ROS 2 folder or file."""
    highlevel, typesys = needed("rosbags.highlevel", "ros"), needed("rosbags.typesys", "ros")
    store = typesys.get_typestore(typesys.Stores.LATEST)
    try:
        with highlevel.AnyReader([path], default_typestore=store) as reader:

            def messages(topics: set[str]) -> Messages:
                chosen = [connection for connection in reader.connections if connection.topic in topics]
                for connection, stamp, raw in reader.messages(connections=chosen):
                    yield connection.topic, stamp, reader.deserialize(raw, connection.msgtype)

            yield sorted({connection.topic for connection in reader.connections}), reader.start_time, messages
    except highlevel.AnyReaderError as error:
        raise TinyUDEError(f"{path} is not a readable bag: {error}.") from None


@contextmanager
def _mcap(path: Path) -> Iterator[tuple[list[str], int, Any]]:
    """Topics, start and messages of an MCAP file: ROS 1, ROS 2 or JSON messages."""
    reading, exceptions = needed("mcap.reader", "ros"), needed("mcap.exceptions", "ros")
    with path.open("rb") as file:
        try:
            reader = reading.make_reader(file)
            summary = reader.get_summary()
            if summary is None:
                raise TinyUDEError(f"{path} has no summary: the recording was cut off; run `mcap recover` on it.")
            decode = _Decoder(path)

            def messages(topics: set[str]) -> Messages:
                for schema, channel, message in reader.iter_messages(topics=sorted(topics)):
                    yield channel.topic, message.log_time, decode(schema, channel.message_encoding, message.data)

            topics = sorted({channel.topic for channel in summary.channels.values()})
            yield topics, summary.statistics.message_start_time if summary.statistics else 0, messages
        except exceptions.McapError as error:
            raise TinyUDEError(f"{path} is not a readable MCAP file: {error}.") from None


class _Decoder:
    """Messages of an MCAP file by their schema, whose types are learned on the way."""

    def __init__(self, path: Path) -> None:
        self.path, self.known = path, set[int]()
        self.typesys = needed("rosbags.typesys", "ros")
        self.store = self.typesys.get_typestore(self.typesys.Stores.EMPTY)

    def __call__(self, schema: Any, encoding: str, data: bytes) -> Any:
        if encoding == "json":
            return json.loads(data)
        if encoding not in ("cdr", "ros1"):
            raise TinyUDEError(f"{self.path} holds {encoding} messages; cdr (ROS 2), ros1 and json can be read.")
        name = schema.name if schema.name.count("/") == 2 else schema.name.replace("/", "/msg/")
        if schema.id not in self.known:
            self.store.register(self.typesys.get_types_from_msg(schema.data.decode(), name))
            self.known.add(schema.id)
        return (self.store.deserialize_cdr if encoding == "cdr" else self.store.deserialize_ros1)(data, name)


def _topic_of(column: str, topics: list[str], path: Path) -> str:
    found = [topic for topic in topics if column == topic or column.startswith(f"{topic}.")]
    if not found:
        raise TinyUDEError(
            f"{path} has no topic for the column {column!r}; write topic.field, e.g. /joint_states.position[0]. "
            f"Its topics are {', '.join(topics)}."
        )
    return max(found, key=len)


def _batches(messages: Messages, channel_of: Mapping[str, str], start: int, path: Path) -> Iterator[Batch]:
    fields: dict[str, dict[str, list[Any]]] = {}
    for column, topic in channel_of.items():
        steps = [int(index) if index else name for name, index in _STEP.findall(column[len(topic) :])]
        fields.setdefault(topic, {})[column] = steps
    pending: dict[str, list[tuple[Any, ...]]] = {}
    for count, (topic, recorded, message) in enumerate(messages, start=1):
        values = [_number(message, steps, column, path) for column, steps in fields.get(topic, {}).items()]
        pending.setdefault(topic, []).append(((_stamp(message) or recorded) - start, *values))
        if count % MESSAGES == 0:
            yield from _emptied(pending, fields)
    yield from _emptied(pending, fields)


def _emptied(pending: dict[str, list[tuple[Any, ...]]], fields: Mapping[str, Mapping[str, Any]]) -> Iterator[Batch]:
    for topic, found in pending.items():
        rows = np.array(found, dtype=np.float64)
        yield topic, 1e-9 * rows[:, 0], dict(zip(fields.get(topic, {}), rows[:, 1:].T, strict=True))
    pending.clear()


def _stamp(message: Any) -> int:
    """The time in a message's header, in nanoseconds; 0 for none."""
    stamp = _entry(_entry(message, "header"), "stamp") or _entry(message, "timestamp")
    seconds = _entry(stamp, "sec")
    if seconds is None:
        return 0
    fraction = next((f for f in (_entry(stamp, name) for name in ("nanosec", "nsec", "nsecs")) if f is not None), 0)
    return int(seconds) * 1_000_000_000 + int(fraction)


def _entry(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _number(message: Any, steps: Sequence[int | str], column: str, path: Path) -> float:
    value = message
    for step in steps:
        try:
            inner = value[step] if isinstance(step, int) else _entry(value, step)
        except (IndexError, TypeError, KeyError):
            inner = None
        if inner is None:
            names = value if isinstance(value, dict) else getattr(value, "__dataclass_fields__", ())
            there = f"; there is {', '.join(names)}" if names else ""
            raise TinyUDEError(f"{path}: a message has no {step!r} for the column {column!r}{there}.")
        value = inner
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TinyUDEError(
            f"{path}: the column {column!r} is no number; write topic.field, e.g. /joint_states.position[0]."
        ) from None
