from inspect import getdoc
from pathlib import Path

import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.physics import Parameter, Physics
from tinyude.physics.file import PhysicsFile, load_physics_file

# The example of the docstring; its lines are indented further than the sentences around it.
RIG = "".join(f"{line[4:]}\n" for line in getdoc(load_physics_file).splitlines() if line.startswith("    "))


@pytest.fixture
def load(tmp_path: Path):
    def loader(text: str | bytes) -> PhysicsFile:
        path = tmp_path / "rig.toml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_physics_file(path)

    return loader


def test_load_physics_file_reads_a_rig(load) -> None:
    rig = load(RIG)
    assert rig.physics == Physics(
        ["theta", "omega"],
        ["omega", "-(g/L)*sin(theta) + tau/J"],
        inputs=["tau"],
        parameters={"g": 9.81, "L": Parameter(0.5, True, 0.1, 2.0), "J": 0.063},
    )
    assert (rig.measured, rig.inputs, rig.time) == ({"theta": "position"}, {"tau": "torque"}, "time")
    assert (rig.residual_on, rig.residual_sees, rig.wrapped) == (("omega",), ("theta", "omega"), {})
    assert rig.columns == ("time", "position", "torque")


def test_load_physics_file_fills_in_defaults(load) -> None:
    rig = load('[states]\ntheta = "omega"\nomega = "-sin(theta) + tau"\n[inputs]\ntau = "torque"\n')
    assert rig.measured == {"theta": "theta", "omega": "omega"}
    assert (rig.time, rig.residual_on, rig.residual_sees) == ("time", ("omega",), ("theta", "omega", "tau"))


def test_load_physics_file_reads_period_angles_and_plain_numbers(load) -> None:
    rig = load('[states]\nx = "v"\nv = -9.81\n[time]\nperiod = 0.002\n[angles]\nwrap = ["x"]\n')
    assert (rig.time, rig.wrapped, rig.columns) == (0.002, {"x": 2.0 * np.pi}, ("x", "v"))
    assert float(rig.physics.rhs[1]) == -9.81


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("[measured]", "[mesured]", r"'mesured' is not a known table \(did you mean measured\?\)"),
        ("[residual]", "[network]", "'network' is not a known table; allowed are states, measured"),
        ('column = "time"', 'colum = "time"', r"key of \[time\] \(did you mean column\?\)"),
        ('column = "time"', 'column = "time"\nperiod = 0.001', "period and a column"),
        ('column = "time"', "period = 0", "time.period is 0"),
        ('column = "time"', "period = inf", "time.period is inf"),
        ('column = "time"', "column = 3", "time.column is 3"),
        ("learn = true", "lern = true", r"key of parameters.L \(did you mean learn\?\)"),
        ("value = 0.5, ", "", "parameters.L has no value"),
        ("value = 0.5", "value = 5.0", r"parameters.L: .*outside \[0.1, 2\]"),
        ("value = 0.5", "value = nan", "parameters.L: .*give a number"),
        ("g = 9.81", 'g = "9.81"', "parameters.g: .*give a number"),
        ("g = 9.81", "", "'g' is unknown.*parameter"),
        ('theta = "position"', 'phi = "position"', r"'phi' is not a known state in \[measured\]"),
        ('theta = "position"', 'omega = "speed"', "theta is not measured"),
        ('theta = "position"', "theta = 1", "measured.theta is 1"),
        ('theta = "position"', 'theta = "torque"', "'torque' is used for two signals"),
        ('on = ["omega"]', 'on = ["omgea"]', r"name for residual.on \(did you mean omega\?\)"),
        ('on = ["omega"]', 'on = "omega"', "give a list of names"),
        ('on = ["omega"]', 'on = ["omega", "omega"]', "names one twice"),
        ('theta = "position"', "theta = { scale = 2.0 }", "measured.theta.column is None"),
        ('theta = "position"', 'theta = { column = "a", scale = 0 }', "measured.theta.scale is 0"),
        ('theta = "position"', 'theta = { column = "a", wraps = -1 }', "wraps is -1; only a measured angle"),
        ('theta = "position"', 'theta = { column = "a", wrap = true }', r"did you mean wraps\?"),
        ('tau = "torque"', 'tau = { column = "a", wraps = true }', "only a measured angle wraps"),
        ("[residual]", '[angles]\nwrap = ["omega"]\n[residual]', "'omega' is not a known name for angles.wrap"),
        ('theta = "omega"', "theta = true", "states.theta is True"),
        ("-(g/L)*sin(theta)", "__import__('os').system('true')", "is not allowed"),
        ("-(g/L)*sin(theta)", "floor(theta)", "unknown function"),
        ("-(g/L)*sin(theta)", "theta**999", "exponent"),
        ("[states]", "[states", "not valid TOML"),
        ("[states]", "[[states]]", "states is .*must be a table"),
    ],
)
def test_load_physics_file_rejects_with_the_file_and_the_key(load, old: str, new: str, complaint: str) -> None:
    assert old in RIG
    with pytest.raises(TinyUDEError, match=complaint) as caught:
        load(RIG.replace(old, new, 1))
    assert "rig.toml" in str(caught.value)


@pytest.mark.parametrize("text", ["", b"\xff\xfe", b"\x00" * 64, "a = " + "[" * 5000, "[states]\n"])
def test_load_physics_file_rejects_what_is_no_physics(load, text: str | bytes) -> None:
    with pytest.raises(TinyUDEError):
        load(text)


def test_load_physics_file_survives_truncation(load) -> None:
    """A text that is cut in its equations is rejected in one line; one that is cut later may be a whole physics."""
    rejected = []
    for end in range(0, len(RIG), 7):
        try:
            load(RIG[:end])
        except TinyUDEError as error:
            assert "\n" not in str(error)
            rejected.append(end)
    equations = RIG.index("[measured]")
    assert set(rejected) >= set(range(0, equations - 10, 7)) and max(rejected) > equations


def test_load_physics_file_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(TinyUDEError, match=r"There is no file .*nothing.toml; check its name"):
        load_physics_file(tmp_path / "nothing.toml")


def test_load_physics_file_reads_scales_and_revolutions(load) -> None:
    rig = load(
        RIG.replace('theta = "position"', 'theta = { column = "angle", scale = 0.5, wraps = 360 }')
        .replace('tau = "torque"', 'tau = { column = "current", scale = -0.02 }')
        .replace('column = "time"', 'column = "t"\nscale = 0.001')
    )
    assert rig.wrapped == {"theta": 360.0} and rig.columns == ("t", "angle", "current")
    assert rig.scales == {"angle": 0.5, "current": -0.02, "t": 0.001}


def test_load_physics_file_reads_holds_and_unmeasured_states(tmp_path: Path) -> None:
    path = tmp_path / "tanks.toml"
    path.write_text(
        '[states]\nx1 = "-k*sqrt(x1) + u"\nx2 = "k*sqrt(x1) - k*sqrt(x2)"\n[measured]\nx2 = "level"\n'
        '[inputs]\nu = { column = "pump", hold = "linear", shift = 1 }\n[parameters]\nk = 0.05\n'
        "[unmeasured]\nx1 = { guess = 4.0, spread = 2.0 }\n[time]\nperiod = 4.0\n"
    )
    made = load_physics_file(path)
    assert made.unmeasured == {"x1": (4.0, 2.0)}
    assert made.holds["u"].kind == "linear" and made.holds["u"].shift == 1


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("[unmeasured]\nomega = { guess = 1.0, spread = 0.0 }", "spread"),
        ("[unmeasured]\nomega = 3.0", "guess = 4.0"),
        ('[inputs]\ntau = { column = "t", hold = "quintic" }', "held, linear, cubic"),
    ],
)
def test_load_physics_file_says_what_a_hold_and_a_guess_take(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(f'[states]\ntheta = "omega"\nomega = "-theta"\n{line}\n')
    with pytest.raises(TinyUDEError, match=told):
        load_physics_file(path)
