"""Log formats, each on a file that the format's own library wrote, with channels of different rates."""

import gzip
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from tinyude.data.logs import Columns, log_stream, read_log
from tinyude.data.tables import iter_table, read_table, recording_columns
from tinyude.errors import TinyUDEError, TinyUDEWarning

FAST, SLOW = 0.01, 0.025  # s: an angle at 100 Hz, a torque at 40 Hz
SECONDS = 6.0
ANGLE_TIMES, TORQUE_TIMES = np.arange(0.0, SECONDS, FAST), np.arange(0.004, SECONDS, SLOW)
START = 1_700_000_000_000_000_000  # ns


def angle(t: np.ndarray) -> np.ndarray:
    return np.sin(2.0 * t)


def torque(t: np.ndarray) -> np.ndarray:
    return 0.3 * np.cos(3.0 * t)


def latest_torque(t: np.ndarray) -> np.ndarray:
    """What was last commanded at or before each time."""
    return torque(TORQUE_TIMES[np.searchsorted(TORQUE_TIMES, t + 1e-7, side="right") - 1])


# One file of each kind: an angle with its measurement stamps 7 ms before it was recorded, a torque without stamps.

LATENCY = 7_000_000  # ns


def write_ros2(path: Path, plugin: str) -> None:
    rosbag2, typesys = pytest.importorskip("rosbags.rosbag2"), pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    with rosbag2.Writer(path, version=9, storage_plugin=rosbag2.StoragePlugin[plugin]) as writer:
        fill_bag(writer, store, store.serialize_cdr, ros1=False)


def write_ros1(path: Path) -> None:
    rosbag1, typesys = pytest.importorskip("rosbags.rosbag1"), pytest.importorskip("rosbags.typesys")
    store = typesys.get_typestore(typesys.Stores.ROS1_NOETIC)
    with rosbag1.Writer(path) as writer:
        fill_bag(writer, store, store.serialize_ros1, ros1=True)


def fill_bag(writer: object, store: object, serialize: Callable, ros1: bool) -> None:
    types = store.types
    joints = writer.add_connection("/joint_states", "sensor_msgs/msg/JointState", typestore=store)
    commands = writer.add_connection("/command", "std_msgs/msg/Float64", typestore=store)
    events = [(t, "angle") for t in ANGLE_TIMES] + [(t, "torque") for t in TORQUE_TIMES]
    empty = np.zeros(0)
    for t, kind in sorted(events):
        stamp = START + round(t * 1e9)
        if kind == "torque":
            message = types["std_msgs/msg/Float64"](data=float(torque(t)))
            writer.write(commands, stamp, serialize(message, "std_msgs/msg/Float64"))
            continue
        time = types["builtin_interfaces/msg/Time"](sec=stamp // 10**9, nanosec=stamp % 10**9)
        sequence = {"seq": 0} if ros1 else {}
        header = types["std_msgs/msg/Header"](stamp=time, frame_id="", **sequence)
        message = types["sensor_msgs/msg/JointState"](
            header=header, name=["a", "b"], position=np.array([9.0, angle(t)]), velocity=empty, effort=empty
        )
        writer.write(joints, stamp + LATENCY, serialize(message, "sensor_msgs/msg/JointState"))


def write_mcap_json(path: Path) -> None:
    writing = pytest.importorskip("mcap.writer")
    with path.open("wb") as file:
        writer = writing.Writer(file)
        writer.start()
        schema = writer.register_schema("any", "jsonschema", b"{}")
        joints = writer.register_channel("/joint_states", "json", schema)
        commands = writer.register_channel("/command", "json", schema)
        for t in ANGLE_TIMES:
            stamp = START + round(t * 1e9)
            message = {
                "header": {"stamp": {"sec": stamp // 10**9, "nsec": stamp % 10**9}},
                "position": [9.0, angle(t)],
            }
            writer.add_message(joints, stamp + LATENCY, json.dumps(message).encode(), stamp)
        for t in TORQUE_TIMES:
            stamp = START + round(t * 1e9)
            writer.add_message(commands, stamp, json.dumps({"data": torque(t)}).encode(), stamp)
        writer.finish()


Stamped = list[tuple[int, bytes]]


def write_mcap(path: Path, messages: dict[str, tuple[str, str, bytes, Stamped]], **options: Any) -> None:
    """Topics by name: encoding of messages, name of the schema, schema, stamped messages."""
    writing = pytest.importorskip("mcap.writer")
    with path.open("wb") as file:
        writer = writing.Writer(file, **options)
        writer.start()
        for topic, (encoding, name, schema, stamped) in messages.items():
            kind = {"cdr": "ros2idl" if b"module" in schema else "ros2msg"}.get(encoding, encoding)
            channel = writer.register_channel(topic, encoding, writer.register_schema(name, kind, schema))
            for stamp, data in stamped:
                writer.add_message(channel, stamp, data, stamp)
        writer.finish()


def numbers_by_cdr(times: np.ndarray, values: np.ndarray) -> Stamped:
    pairs = zip(times, values, strict=True)
    return [(START + round(t * 1e9), b"\0\1\0\0" + struct.pack("<d", value)) for t, value in pairs]


@pytest.mark.parametrize("packed", ["ZSTD", "LZ4", "NONE"])
def test_iter_table_reads_mcap_of_many_small_chunks(packed: str, tmp_path: Path) -> None:
    """Two topics, one after the other in the file, one of them with its type in IDL."""
    writing = pytest.importorskip("mcap.writer", reason="needs mcap: pip install tinyude[ros]")
    idl = b"module rig_msgs { module msg { struct Number { double data; }; }; };"
    content = {
        "/angle": ("cdr", "std_msgs/msg/Float64", b"float64 data", numbers_by_cdr(ANGLE_TIMES, angle(ANGLE_TIMES))),
        "/torque": ("cdr", "rig_msgs/msg/Number", idl, numbers_by_cdr(TORQUE_TIMES, torque(TORQUE_TIMES))),
    }
    path = tmp_path / "log.mcap"
    write_mcap(path, content, compression=writing.CompressionType[packed], chunk_size=500)
    columns = ("/angle", "/angle.data", "/torque.data")
    chunks = list(iter_table(path, columns, 100, "/angle", {"/torque.data"}))
    check({name: np.concatenate([chunk[name] for chunk in chunks]) for name in columns}, columns)


def test_iter_table_moves_stamps_of_another_clock(tmp_path: Path) -> None:
    """Two topics in simulated time beside one that has the recorder's time only."""
    pytest.importorskip("mcap", reason="needs mcap: pip install tinyude[ros]")

    def simulated(times: np.ndarray, delay: int) -> Stamped:
        rows = ((round(t * 1e9), angle(t)) for t in times)
        return [
            (START + stamp + delay, json.dumps({"header": {"stamp": {"sec": 900, "nanosec": stamp}}, "q": q}).encode())
            for stamp, q in rows
        ]

    content = {
        "/first": ("json", "", b"", simulated(ANGLE_TIMES[1:], 0)),
        "/second": ("json", "", b"", simulated(ANGLE_TIMES[1:] + 0.001, 9_000_000)),
        "/torque": ("cdr", "std_msgs/msg/Float64", b"float64 data", numbers_by_cdr(TORQUE_TIMES, torque(TORQUE_TIMES))),
    }
    write_mcap(tmp_path / "log.mcap", content)
    columns = ("/first", "/first.q", "/second.q", "/torque.data")
    table = next(iter_table(tmp_path / "log.mcap", columns, 10_000, "/first", {"/torque.data"}))
    times = table["/first"] + TORQUE_TIMES[0]  # the log begins with the first torque
    assert np.allclose(times, ANGLE_TIMES[1:], atol=1e-6)
    assert np.allclose(table["/second.q"][1:], angle(times)[1:], atol=1e-4)  # the latency of 8 ms is not in it
    assert np.allclose(table["/torque.data"], latest_torque(times), atol=1e-6)


def test_iter_table_reads_protobuf_and_missing_values(tmp_path: Path) -> None:
    pytest.importorskip("mcap", reason="needs mcap: pip install tinyude[ros]")
    descriptor = pytest.importorskip(
        "google.protobuf.descriptor_pb2", reason="needs protobuf: pip install tinyude[ros]"
    )
    files = descriptor.FileDescriptorSet()
    outer, inner = files.file.add(name="b.proto", dependency=["a.proto"]), files.file.add(name="a.proto")
    inner.message_type.add(name="Inner").field.add(name="q", number=1, type=1, label=3)
    outer.message_type.add(name="Outer").field.add(name="joint", number=1, type=11, label=1, type_name=".Inner")
    packed = [b"\x0a\x12\x09" + bytes(8) + b"\x09" + struct.pack("<d", angle(t)) for t in ANGLE_TIMES]
    stamps = [START + round(t * 1e9) for t in ANGLE_TIMES]
    gaps = [json.dumps({"q": None if k % 7 == 3 else k}).encode() for k in range(len(stamps))]
    content = {
        "/arm": ("protobuf", "Outer", files.SerializeToString(), list(zip(stamps, packed, strict=True))),
        "/gaps": ("json", "", b"", list(zip(stamps, gaps, strict=True))),
        "/cut": ("json", "", b"", [(START, b"{")]),
        "/other": ("flatbuffer", "x", b"", [(START, b"")]),
    }
    write_mcap(tmp_path / "log.mcap", content)
    table = read_table(tmp_path / "log.mcap", ["/arm.joint.q[1]", "/gaps.q"])
    assert np.array_equal(table["/arm.joint.q[1]"], angle(ANGLE_TIMES))
    assert np.array_equal(np.isnan(table["/gaps.q"]), np.arange(len(stamps)) % 7 == 3)
    for column, told in {
        "/arm.joint.p": "no 'p' .* there is q",
        "/arm.joint.q": r"is not a number.* there is \[0\], \[1\]",
        "/cut.q": "a message of /cut cannot be decoded",
        "/other.q": "holds flatbuffer messages; .* json can be read",
    }.items():
        with pytest.raises(TinyUDEError, match=told):
            read_table(tmp_path / "log.mcap", [column])
    with pytest.raises(TinyUDEError, match=r"\[time\] column names the topic whose stamps"):
        next(iter_table(tmp_path / "log.mcap", ["time", "/gaps.q"], time="time"))


ROS_COLUMNS = ("/joint_states", "/joint_states.position[1]", "/command.data")


@pytest.fixture(params=["bag", "db3", "mcap", "mcap json"])
def ros_log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    pytest.importorskip("rosbags", reason="needs rosbags: pip install tinyude[ros]")
    pytest.importorskip("mcap", reason="needs mcap: pip install tinyude[ros]")
    path = tmp_path / {"bag": "log.bag", "mcap json": "log.mcap"}.get(request.param, "log")
    if request.param == "bag":
        write_ros1(path)
    elif request.param == "mcap json":
        write_mcap_json(path)
    else:
        write_ros2(path, {"db3": "SQLITE3", "mcap": "MCAP"}[request.param])
        path = next(path.glob("*.mcap")) if request.param == "mcap" else path
    return path


def check(table: dict[str, np.ndarray], columns: tuple[str, str, str], offset: float = 0.0) -> None:
    """Every angle at the time when it was measured, each torque from the time when it was commanded."""
    times, found, held = (table[name] for name in columns)
    expected = ANGLE_TIMES[1:]  # at the first no torque is known yet
    assert np.allclose(times + offset, expected, atol=1e-6)
    assert np.allclose(found, angle(expected), atol=1e-6)
    assert np.allclose(held, latest_torque(expected), atol=1e-6)


def test_iter_table_reads_ros_logs(ros_log: Path) -> None:
    chunks = list(iter_table(ros_log, ROS_COLUMNS, 100, ROS_COLUMNS[0], {ROS_COLUMNS[2]}))
    assert len(chunks) > 3
    table = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in ROS_COLUMNS}
    check(table, ROS_COLUMNS, offset=0.004)  # the log begins with the first torque


def test_recording_columns_are_those_that_can_be_read(ros_log: Path) -> None:
    found = recording_columns(ros_log)
    assert set(found) == {"/joint_states", "/command"} and found["/command"] == ["/command.data"]
    assert ROS_COLUMNS[1] in found["/joint_states"]
    assert not any("header" in name or "name" in name for names in found.values() for name in names)
    for time, names in found.items():
        assert set(next(iter_table(ros_log, [time, *names], time=time))) == {time, *names}


def test_iter_table_names_topics_and_fields_that_are_there(ros_log: Path) -> None:
    with pytest.raises(TinyUDEError, match=r"no topic for the column '/joints\.p'.*/command, /joint_states"):
        list(iter_table(ros_log, ["/joints.p"]))
    with pytest.raises(TinyUDEError, match="no 'speed' for the column"):
        list(iter_table(ros_log, ["/joint_states.speed[0]"]))
    with pytest.raises(TinyUDEError, match=r"is not a number; write topic\.field"):
        list(iter_table(ros_log, ["/joint_states.position"]))


def write_ulog(path: Path) -> None:
    """By the format's published layout; pyulog itself judges and reads it."""

    def message(kind: str, content: bytes) -> bytes:
        return struct.pack("<HB", len(content), ord(kind)) + content

    out = b"ULog\x01\x12\x35\x01" + struct.pack("<Q", 5_000_000)
    out += message("B", bytes(40))
    out += message("F", b"rig_angle:uint64_t timestamp;uint64_t timestamp_sample;float[2] q;")
    out += message("F", b"rig_torque:uint64_t timestamp;float tau;")
    out += message("A", struct.pack("<BH", 0, 0) + b"rig_angle")
    out += message("A", struct.pack("<BH", 1, 1) + b"rig_torque")
    for t in ANGLE_TIMES:
        measured = 5_000_000 + round(t * 1e6)
        out += message("D", struct.pack("<HQQff", 0, measured + 7_000, measured, 9.0, angle(t)))
    for t in TORQUE_TIMES:
        out += message("D", struct.pack("<HQf", 1, 5_000_000 + round(t * 1e6), torque(t)))
    path.write_bytes(out)


def test_iter_table_reads_ulog(tmp_path: Path) -> None:
    pytest.importorskip("pyulog", reason="needs pyulog: pip install tinyude[px4]")
    path = tmp_path / "flight.ulg"
    write_ulog(path)
    columns = ("rig_angle", "rig_angle.q[1]", "rig_torque:1.tau")
    chunks = list(iter_table(path, columns, 250, columns[0], {columns[2]}))
    check({name: np.concatenate([chunk[name] for chunk in chunks]) for name in columns}, columns)
    with pytest.raises(TinyUDEError, match=r"no topic 'rig_angel' \(did you mean 'rig_angle'"):
        list(iter_table(path, ["rig_angel.q[1]"]))
    with pytest.raises(TinyUDEError, match=r"no column 'rig_angle\.p'"):
        list(iter_table(path, ["rig_angle.p"]))
    assert recording_columns(path)["rig_angle"] == ["rig_angle.q[0]", "rig_angle.q[1]"]
    content = bytearray(path.read_bytes())
    content[4000:4100] = bytes(100)
    path.write_bytes(content)
    with pytest.warns(TinyUDEWarning, match="is damaged"):
        list(iter_table(path, ["rig_angle.q[1]"]))


def test_iter_table_reads_what_pyulog_wrote(tmp_path: Path) -> None:
    pyulog = pytest.importorskip("pyulog", reason="needs pyulog: pip install tinyude[px4]")
    write_ulog(tmp_path / "first.ulg")
    pyulog.ULog(str(tmp_path / "first.ulg")).write_ulog(str(tmp_path / "again.ulg"))
    table = read_table(tmp_path / "again.ulg", ["rig_angle.q[1]"])
    assert np.allclose(table["rig_angle.q[1]"], angle(ANGLE_TIMES), atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # asammdf's own, of its dependencies
def test_iter_table_reads_mdf(tmp_path: Path) -> None:
    asammdf = pytest.importorskip("asammdf", reason="needs asammdf: pip install tinyude[mdf]")
    path = tmp_path / "drive.mf4"
    with asammdf.MDF(version="4.10") as file:
        file.append([asammdf.Signal(angle(ANGLE_TIMES), ANGLE_TIMES, name="Angle")])
        file.append([asammdf.Signal(torque(TORQUE_TIMES), TORQUE_TIMES, name="Torque")])
        file.append([asammdf.Signal(torque(TORQUE_TIMES), TORQUE_TIMES, name="Twice")])
        file.append([asammdf.Signal(angle(ANGLE_TIMES), ANGLE_TIMES, name="Twice")])
        file.save(path)
    columns = ("Angle", "3:Twice", "Torque")
    chunks = list(iter_table(path, columns, 250, "Angle", {"Torque"}))
    check({name: np.concatenate([chunk[name] for chunk in chunks]) for name in columns}, columns)
    assert recording_columns(path) == {
        "0:time": ["Angle"], "1:time": ["Torque"], "2:time": ["2:Twice"], "3:time": ["3:Twice"],
    }  # fmt: skip
    with pytest.raises(TinyUDEError, match="name one of 2:Twice, 3:Twice"):
        list(iter_table(path, ["Twice"]))
    with pytest.raises(TinyUDEError, match=r"no channel 'Angel' \(did you mean 'Angle'"):
        list(iter_table(path, ["Angel"]))


@pytest.mark.filterwarnings("ignore")  # asammdf's own, of its dependencies
def test_iter_table_reads_what_instruments_put_into_mdf(tmp_path: Path) -> None:
    """Scaled integers, packed blocks, invalid samples, values with texts, and groups longer than a piece."""
    asammdf = pytest.importorskip("asammdf", reason="needs asammdf: pip install tinyude[mdf]")
    path = tmp_path / "drive.mf4"
    raw = np.round((angle(ANGLE_TIMES) + 5.0) / 0.001).astype(np.uint16)
    invalid = np.arange(len(ANGLE_TIMES)) // 100 == 3
    gears = {"val_0": 0, "text_0": b"N", "val_1": 1, "text_1": b"D", "default": b"?"}
    with asammdf.MDF(version="4.10") as file:
        file.append([asammdf.Signal(raw, ANGLE_TIMES, name="Angle", conversion={"a": 0.001, "b": -5.0}, raw=True)])
        file.append([asammdf.Signal(angle(ANGLE_TIMES), ANGLE_TIMES, name="Doubted", invalidation_bits=invalid)])
        file.append([asammdf.Signal(torque(TORQUE_TIMES), TORQUE_TIMES, name="Torque")])
        gear = np.arange(len(TORQUE_TIMES), dtype=np.uint8) % 2
        file.append([asammdf.Signal(gear, TORQUE_TIMES, name="Gear", conversion=gears, raw=True)])
        file.save(path, compression=2)
    columns = ("0:time", "Angle", "Doubted", "Torque")
    chunks = list(iter_table(path, columns, 50, "0:time", {"Torque"}))
    table = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in columns}
    assert np.array_equal(table["0:time"], ANGLE_TIMES[1:])
    assert np.allclose(table["Angle"], angle(ANGLE_TIMES[1:]), atol=0.0005)
    assert np.array_equal(np.isnan(table["Doubted"]), invalid[1:])
    assert np.allclose(table["Torque"], latest_torque(ANGLE_TIMES[1:]), atol=1e-6)
    assert np.array_equal(read_table(path, ["Gear"])["Gear"], gear)


def test_iter_table_reads_hdf5(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install tinyude[hdf5]")
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file["rig/time"] = ANGLE_TIMES
        file["rig/states"] = np.column_stack([angle(ANGLE_TIMES), 2.0 * angle(ANGLE_TIMES)])
        file["gain"] = 3.0
        file["table"] = np.array(
            list(zip(ANGLE_TIMES, angle(ANGLE_TIMES), strict=True)), dtype=[("t", "f8"), ("q", "f4")]
        )
    chunks = list(iter_table(tmp_path / "log.h5", ["rig/time", "rig/states_2"], rows=400))
    assert [len(chunk["rig/time"]) for chunk in chunks] == [400, 200]
    assert np.array_equal(np.concatenate([c["rig/states_2"] for c in chunks]), 2.0 * angle(ANGLE_TIMES))
    assert np.allclose(
        read_table(tmp_path / "log.h5", ["table/t", "table/q"])["table/q"], angle(ANGLE_TIMES), atol=1e-6
    )
    with pytest.raises(TinyUDEError, match="no column 'rig/speed'"):
        list(iter_table(tmp_path / "log.h5", ["rig/speed"]))


def test_iter_table_reads_matlab_73(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install tinyude[hdf5]")
    path = tmp_path / "log.mat"
    with h5py.File(path, "w", userblock_size=512) as file:  # as MATLAB lays it out: columns become rows
        for name, values in (("t", ANGLE_TIMES[None, :]), ("rig/theta", angle(ANGLE_TIMES)[:, None])):
            file[name] = values
            file[name].attrs["MATLAB_class"] = np.bytes_("double")
        file["note"] = np.array([[72, 105]], np.uint16)
        file["note"].attrs["MATLAB_class"] = np.bytes_("char")
        file["runs"] = np.array([[file["t"].ref]], h5py.ref_dtype)
        file["runs"].attrs["MATLAB_class"] = np.bytes_("cell")
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header + path.read_bytes()[len(header) :])
    table = read_table(path)
    assert np.array_equal(table["t"], ANGLE_TIMES)
    assert np.array_equal(table["rig.theta"], angle(ANGLE_TIMES))
    assert set(table) == {"t", "rig.theta", "runs{1}"}
    assert np.array_equal(table["runs{1}"], ANGLE_TIMES)


@pytest.mark.parametrize("ending", [".feather", ".arrow"])
def test_iter_table_reads_arrow(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"log{ending}"
    pl.DataFrame({"t": ANGLE_TIMES, "theta": angle(ANGLE_TIMES)}).write_ipc(path, compression="zstd")
    chunks = list(iter_table(path, ["theta"], rows=250))
    assert [len(chunk["theta"]) for chunk in chunks] == [250, 250, 100]
    assert np.array_equal(np.concatenate([c["theta"] for c in chunks]), angle(ANGLE_TIMES))


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_iter_table_reads_packed_csv(tmp_path: Path, ending: str) -> None:
    text = pl.DataFrame({"t": ANGLE_TIMES, "theta": angle(ANGLE_TIMES)}).write_csv().encode()
    path = tmp_path / f"log.csv{ending}"
    if ending == ".gz":
        path.write_bytes(gzip.compress(text))
    else:
        reason = "needs zstd: pip install tinyude[zstd]"
        zstd = pytest.importorskip(
            "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", reason=reason
        )
        half = text.index(b"\n", len(text) // 2) + 1
        path.write_bytes(zstd.compress(text[:half]) + zstd.compress(text[half:]))  # as rotated logs are joined
    assert np.array_equal(read_table(path)["theta"], angle(ANGLE_TIMES))
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(TinyUDEError, match="cut short or damaged"):
        read_table(path)


def test_log_stream_takes_a_recording_as_it_takes_csv(tmp_path: Path) -> None:
    pytest.importorskip("mcap", reason="needs mcap: pip install tinyude[ros]")
    path = tmp_path / "log.mcap"
    write_mcap_json(path)
    columns = Columns(ROS_COLUMNS[0], {"theta": ROS_COLUMNS[1]}, {"tau": ROS_COLUMNS[2]})
    log = read_log(path, columns)
    assert log.u is not None
    check(dict(zip(ROS_COLUMNS, (log.t, log.Y[:, 0], log.u[:, 0]), strict=True)), ROS_COLUMNS, offset=0.004)
    stream = log_stream([path], columns)
    assert stream.period == pytest.approx(FAST, rel=1e-6)
    assert stream.count == len(ANGLE_TIMES) - 1


KINDS = ["log.mcap", "log.bag", "log.ulg", "log.mf4", "log.h5", "log.feather", "log.csv.gz", "log.csv.zst"]


@pytest.mark.parametrize("name", KINDS)
def test_iter_table_names_missing_and_broken_files(name: str, tmp_path: Path) -> None:
    for module in ("mcap", "rosbags", "pyulog", "asammdf", "h5py"):
        pytest.importorskip(module)
    path = tmp_path / name
    with pytest.raises(TinyUDEError, match="There is no file"):
        list(iter_table(path, ["theta"]))
    path.write_bytes(b"this is no log of any kind, whatever its name says; " * 30)
    with pytest.raises(TinyUDEError, match=name.replace(".", r"\.")):
        list(iter_table(path, ["theta"]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["mcap", "bag", "mf4", "h5"])
def test_iter_table_rejects_damage_in_the_middle_of_a_file(kind: str, tmp_path: Path) -> None:
    path, columns = tmp_path / f"log.{kind}", [ROS_COLUMNS[1]]
    if kind == "mcap":
        write_mcap_json(path)
    elif kind == "bag":
        write_ros1(path)
    elif kind == "mf4":
        asammdf = pytest.importorskip("asammdf", reason="needs asammdf: pip install tinyude[mdf]")
        with asammdf.MDF(version="4.10") as file:
            file.append([asammdf.Signal(angle(ANGLE_TIMES), ANGLE_TIMES, name="Angle")])
            file.save(path, compression=2)
        columns = ["Angle"]
    else:
        h5py = pytest.importorskip("h5py", reason="needs h5py: pip install tinyude[hdf5]")
        with h5py.File(path, "w") as file:
            file.create_dataset("theta", data=angle(ANGLE_TIMES), compression="gzip")
        columns = ["theta"]
    content = bytearray(path.read_bytes())
    rejected = 0
    for place in range(len(content) // 20, len(content), len(content) // 10):
        damaged = content.copy()
        damaged[place : place + 40] = bytes(byte ^ 0xA5 for byte in damaged[place : place + 40])
        path.write_bytes(damaged)
        try:
            list(iter_table(path, columns))
        except TinyUDEError as error:
            rejected += 1
            assert path.name in str(error)
    assert rejected
