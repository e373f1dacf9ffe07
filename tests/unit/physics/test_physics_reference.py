"""The reference page of the physics file names every key that the parser takes, and no other."""

import re
from pathlib import Path

import numpy as np
import pytest

from tinyude.physics import file
from tinyude.physics.template import physics_template

PAGE = Path(__file__).parents[3] / "docs" / "physics_file.md"


def test_reference_lists_every_table_and_key() -> None:
    parts = re.split(r"^## `\[(\w+)\]`$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(sections) == set(file._TABLES)
    own = {"measured": {"column", "scale", "wraps", "unit"}, "inputs": {"hold", "shift"}}
    own |= {"parameters": set(file._PARAMETER_KEYS), "unmeasured": set(file._UNMEASURED_KEYS)}
    assert own["measured"] | own["inputs"] == set(file._SIGNAL_KEYS)
    for table, keys in file._TABLES.items():
        listed = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", sections[table], re.MULTILINE))))
        assert listed == (set(keys) if keys is not None else own.get(table, set())), table


def test_physics_template_is_a_physics_file(tmp_path: Path) -> None:
    t = 0.01 * np.arange(400.0)
    table = {"time_ms": 1e3 * t, "angle [deg]": np.sin(3 * t), "speed": 3 * np.cos(3 * t), "torque": np.cos(t)}
    path = tmp_path / "made.toml"
    path.write_text(physics_template(table, "log.csv"), encoding="utf-8")
    made = file.load_physics_file(path)
    assert made.physics.texts[0] == "speed" and made.measured["angle"] == "angle [deg]"
    assert made.scales["angle [deg]"] == 0.017453293 and made.scales["time_ms"] == 0.001
    assert made.inputs == {"torque": "torque"}


def test_physics_template_of_a_recording_names_its_channels_and_lists_the_others(tmp_path: Path) -> None:
    t = 2.0 * np.arange(400.0)
    table = {"/arm": t, "/arm.q[0]": np.sin(t), "/arm.q[1]": np.cos(t), "/arm.tau": np.cos(0.1 * t)}
    path = tmp_path / "made.toml"
    path.write_text(physics_template(table, "log.mcap", "/arm", ["/imu.x"]), encoding="utf-8")
    made = file.load_physics_file(path)
    assert made.time == "/arm" and set(made.scales.values()) == {1.0}
    assert made.measured == {"q_0": "/arm.q[0]", "q_1": "/arm.q[1]"} and made.inputs == {"tau": "/arm.tau"}
    assert "#   /imu.x" in path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "step", "line"),
    [
        ("time [s]", 1.0, 'column = "time [s]"'),
        ("Time (ms)", 5.0, "scale = 0.001"),
        ("t_us", 500.0, "scale = 1e-06"),
        ("Zeit", 0.02, 'column = "Zeit"'),
    ],
)
def test_physics_template_finds_the_clock_by_name_unit_or_steps(name: str, step: float, line: str) -> None:
    rows = np.arange(200)
    text = physics_template({name: step * rows, "level": np.sin(0.1 * rows)}, "log.csv")
    clock = text.partition("[time]\n")[2]
    assert line in clock
    assert ("scale" in clock) == ("scale" in line)
    assert 'level = "0"' in text


def test_physics_template_takes_what_holds_and_jumps_for_an_input_and_codes_of_a_sensor_for_a_state() -> None:
    rows = np.arange(1000)
    coded = np.round(40.0 * np.sin(0.005 * rows)) / 40.0
    steps = np.repeat([0.0, 3.0, 1.0, 2.5, 0.5, 4.0, 1.5, 3.5, 0.2, 2.0], 100)
    text = physics_template({"t": 0.01 * rows, "pump": steps, "level": coded}, "log.csv")
    inputs = text.partition("[inputs]")[2].partition("[parameters]")[0]
    assert "pump" in inputs and "level" not in inputs and 'level = "0"' in text


def test_physics_template_takes_a_lone_value_for_the_period_and_leaves_out_empty_columns() -> None:
    rows = np.arange(400)
    period, empty = np.full(400, np.nan), np.full(400, np.nan)
    period[0] = 4.0
    text = physics_template({"uEst": np.cos(rows), "yEst": np.sin(rows), "Ts": period, "column 4": empty}, "log.csv")
    assert "period = 4  # guess: the value of the column Ts" in text
    assert "[inputs]" in text and 'uEst = "uEst"' in text.split("[inputs]")[1]
    assert text.split("[measured]")[0].count(" = ") == 1  # one state: yEst
    assert "#   Ts" in text and "#   column 4" in text
