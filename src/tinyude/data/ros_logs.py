"""ROS 1 and ROS 2 bags and MCAP files: fields of topics as columns, e.g. `/joint_states.position[0]`.

A sample's time is the stamp of its message's header, when it was measured; without one, when it was recorded. Stamps of
another clock, such as simulated time, are moved to the recorder's by what the first of them differs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.data.extras import needed
from tinyude.data.recordings import Batch, Table, aligned, base_of
from tinyude.errors import TinyUDEError, listed

MESSAGES = 5_000  # taken together
LISTED = 16  # entries of an array, where columns are listed
ONE_CLOCK = 60_000_000_000  # ns: a stamp further from its recording is of another clock
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")
Messages = Iterator[tuple[str, int, Callable[[], Any]]]  # topic, time of recording in ns, what decodes the message


def iter_ros_log(
    path: Path, columns: Sequence[str], rows: int, time: str | None, held: Collection[str]
) -> Iterator[Table]:
    """Columns of a bag or an MCAP file in pieces; `time` names the topic whose stamps make the rows."""
    with (_mcap if path.suffix.lower() == ".mcap" else _bag)(path) as (topics, start, messages):
        channel_of = {column: _topic_of(column, topics, column == time, path) for column in columns}
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


def ros_columns(path: Path) -> dict[str, list[str]]:
    """Columns of numbers by topic, as the first message of each has them."""
    with (_mcap if path.suffix.lower() == ".mcap" else _bag)(path) as (topics, _, messages):
        found: dict[str, list[str]] = {}
        for topic, _, decode in messages(set(topics)):
            if topic not in found:
                try:
                    found[topic] = [f"{topic}{name}" for name in _number_names(decode())]
                except Exception:  # what cannot be decoded has no columns; decoders raise what they meet
                    found[topic] = []
            if len(found) == len(topics):
                break
    return found


def _number_names(value: Any) -> list[str]:
    """Fields of a message that are numbers, as `.field`, `.field.inner` or `.field[0]`; not those of its stamp."""
    if isinstance(value, (bool, int, float, np.number)):
        return [""]
    if isinstance(value, (str, bytes)) or value is None:
        return []
    if not isinstance(value, dict) and hasattr(value, "__len__"):
        return [f"[{k}]{rest}" for k, item in enumerate(value[:LISTED]) for rest in _number_names(item)]
    names = (name for name in _fields(value) if name not in ("header", "stamp", "timestamp"))
    return [f".{name}{rest}" for name in names for rest in _number_names(_entry(value, name))]


@contextmanager
def _bag(path: Path) -> Iterator[tuple[list[str], int, Any]]:
    """Topics, start and messages of a ROS 1 file, or of a ROS 2 folder or file."""
    if path.is_dir() and not (path / "metadata.yaml").is_file():
        raise TinyUDEError(f"{path} is a folder without metadata.yaml; give a log file, or the folder of a ROS 2 bag.")
    highlevel, typesys = needed("rosbags.highlevel", "ros"), needed("rosbags.typesys", "ros")
    store = typesys.get_typestore(typesys.Stores.LATEST)
    try:
        with highlevel.AnyReader([path], default_typestore=store) as reader:

            def messages(topics: set[str]) -> Messages:
                chosen = [connection for connection in reader.connections if connection.topic in topics]
                for connection, stamp, raw in reader.messages(connections=chosen):
                    yield connection.topic, stamp, partial(reader.deserialize, raw, connection.msgtype)

            yield sorted({connection.topic for connection in reader.connections}), reader.start_time, messages
    except highlevel.AnyReaderError as error:
        why = str(error).rstrip(".")
        raise TinyUDEError(f"{path} is not a readable bag: {why}; see `rosbag reindex`, `ros2 bag reindex`.") from None


@contextmanager
def _mcap(path: Path) -> Iterator[tuple[list[str], int, Any]]:
    """Topics, start and messages of an MCAP file: ROS 1, ROS 2, Protobuf or JSON messages."""
    reading, exceptions = needed("mcap.reader", "ros"), needed("mcap.exceptions", "ros")
    with path.open("rb") as file:
        try:
            reader = reading.make_reader(file, validate_crcs=True)
            summary = reader.get_summary()
            if summary is None:
                raise TinyUDEError(f"{path} has no summary: the recording was cut off; see `mcap recover`.")
            decode = _Decoder(path)

            def messages(topics: set[str]) -> Messages:
                for schema, channel, message in reader.iter_messages(topics=sorted(topics)):
                    encoding = channel.message_encoding
                    yield channel.topic, message.log_time, partial(decode, schema, encoding, message.data)

            topics = sorted({channel.topic for channel in summary.channels.values()})
            yield topics, summary.statistics.message_start_time if summary.statistics else 0, messages
        except exceptions.McapError as error:
            raise TinyUDEError(f"{path} is not a readable MCAP file: {error}; see `mcap recover`.") from None


class _Decoder:
    """Messages of an MCAP file by their schema, whose types are learned on the way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.readers: dict[int, Callable[[bytes], Any]] = {}  # by the number of the schema
        self.typesys = needed("rosbags.typesys", "ros")
        self.store = self.typesys.get_typestore(self.typesys.Stores.EMPTY)

    def __call__(self, schema: Any, encoding: str, data: bytes) -> Any:
        if encoding == "json":
            return json.loads(data)
        if schema.id not in self.readers:
            self.readers[schema.id] = self.reader(schema, encoding)
        return self.readers[schema.id](data)

    def reader(self, schema: Any, encoding: str) -> Callable[[bytes], Any]:
        """What decodes the messages of a schema."""
        if encoding == "protobuf":
            return _protobuf_reader(schema)
        if encoding not in ("cdr", "ros1"):
            raise TinyUDEError(
                f"{self.path} holds {encoding} messages; cdr (ROS 2), ros1, protobuf and json can be read: convert it."
            )
        name = schema.name if schema.name.count("/") == 2 else schema.name.replace("/", "/msg/")
        text = schema.data.decode()
        idl = schema.encoding == "ros2idl"
        self.store.register(
            self.typesys.get_types_from_idl(text) if idl else self.typesys.get_types_from_msg(text, name)
        )
        decode = self.store.deserialize_cdr if encoding == "cdr" else self.store.deserialize_ros1
        return lambda data: decode(data, name)


def _protobuf_reader(schema: Any) -> Callable[[bytes], Any]:
    """What decodes the messages of a Protobuf schema, which is a set of files that import each other."""
    protobuf = {name: needed(f"google.protobuf.{name}", "ros") for name in ("descriptor_pb2", "message_factory")}
    pool = needed("google.protobuf.descriptor_pool", "ros").DescriptorPool()
    files = {file.name: file for file in protobuf["descriptor_pb2"].FileDescriptorSet.FromString(schema.data).file}

    def add(name: str) -> None:
        file = files.pop(name, None)
        if file is not None:
            for other in file.dependency:
                add(other)
            pool.Add(file)

    for name in list(files):
        add(name)
    message = protobuf["message_factory"].GetMessageClass(pool.FindMessageTypeByName(schema.name))
    found: Callable[[bytes], Any] = message.FromString
    return found


def _topic_of(column: str, topics: list[str], time: bool, path: Path) -> str:
    found = [topic for topic in topics if column == topic or column.startswith(f"{topic}.")]
    if not found:
        wanted = (
            "[time] column names the topic whose stamps make the rows"
            if time
            else "write topic.field, e.g. /joint_states.position[0]"
        )
        raise TinyUDEError(
            f"{path} has no topic for the column {column!r}; {wanted}. Its topics are {listed(topics) or 'none'}."
        )
    return max(found, key=len)


class _Clocks:
    """Moves the stamps of every topic to the recorder's clock; topics of one other clock by the same amount."""

    def __init__(self) -> None:
        self.shifts = [0]
        self.shift_of: dict[str, int] = {}

    def time(self, topic: str, stamp: int, recorded: int) -> int:
        """When a message was measured, in the recorder's nanoseconds; when it was recorded, if it has no stamp."""
        if not stamp:
            return recorded
        if topic not in self.shift_of:
            near = [shift for shift in self.shifts if abs(stamp + shift - recorded) <= ONE_CLOCK]
            if not near:
                near.append(recorded - stamp)
                self.shifts += near
            self.shift_of[topic] = near[0]
        return stamp + self.shift_of[topic]


def _batches(messages: Messages, channel_of: Mapping[str, str], start: int, path: Path) -> Iterator[Batch]:
    fields: dict[str, dict[str, list[Any]]] = {}
    for column, topic in channel_of.items():
        steps = [int(index) if index else name for name, index in _STEP.findall(column[len(topic) :])]
        fields.setdefault(topic, {})[column] = steps
    pending: dict[str, list[tuple[Any, ...]]] = {}
    clocks = _Clocks()
    for count, (topic, recorded, decode) in enumerate(messages, start=1):
        try:
            message = decode()
        except TinyUDEError:
            raise
        except Exception as error:  # decoders raise what they meet
            raise TinyUDEError(
                f"{path}: a message of {topic} cannot be decoded ({type(error).__name__}: {error}); of a ROS 2 bag, "
                "give the folder, which says how its messages are packed."
            ) from None
        values = [_number(message, steps, column, path) for column, steps in fields.get(topic, {}).items()]
        pending.setdefault(topic, []).append((clocks.time(topic, _stamp(message), recorded) - start, *values))
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
    seconds, fraction = _first(stamp, "sec", "seconds"), _first(stamp, "nanosec", "nsec", "nsecs", "nanos")
    return int(seconds or 0) * 1_000_000_000 + int(fraction or 0)


def _first(value: Any, *names: str) -> Any:
    """The first of these entries that is there."""
    return next((found for found in (_entry(value, name) for name in names) if found is not None), None)


def _entry(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else getattr(value, name, None)


def _number(message: Any, steps: Sequence[int | str], column: str, path: Path) -> float:
    value = message
    for step in steps:
        try:
            inner = value[step] if isinstance(step, int) else _entry(value, step)
        except (IndexError, TypeError, KeyError):
            inner = None
        if inner is None and isinstance(value, dict) and step in value:
            return np.nan  # null in JSON
        if inner is None:
            raise TinyUDEError(f"{path}: a message has no {step!r} for the column {column!r}{_there(value)}.")
        value = inner
    try:
        if np.ndim(value):
            raise ValueError("an array")
        return float(value)
    except (TypeError, ValueError):
        example = "write topic.field, e.g. /joint_states.position[0]"
        raise TinyUDEError(f"{path}: the column {column!r} is not a number; {example}{_there(value)}.") from None


def _fields(value: Any) -> list[str]:
    known = getattr(getattr(value, "DESCRIPTOR", None), "fields_by_name", getattr(value, "__dataclass_fields__", ()))
    return [name for name in (value if isinstance(value, dict) else known) if not name.startswith("__")]


def _there(value: Any) -> str:
    """What a column could name next."""
    names = _fields(value)
    if not names and not isinstance(value, str) and hasattr(value, "__len__") and len(value):
        names = [f"[{place}]" for place in range(len(value))]
    return f"; there is {listed(names)}" if names else ""
