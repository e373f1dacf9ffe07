"""Every example runs from a folder of its own and finds what its plant hides."""

import re
import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tinyude import native
from tinyude.model.line_wrapping import HANG

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
NUMBER = r"([+-]?\d+\.?\d*)"

pytestmark = pytest.mark.skipif(not native.available(), reason="needs the compiled core")


@pytest.fixture
def printed_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], str]:
    """Runs a script as `python examples/NAME.py picture.png` does; what it printed."""

    def run(name: str) -> str:
        monkeypatch.chdir(tmp_path)
        monkeypatch.syspath_prepend(EXAMPLES)
        monkeypatch.setattr(sys, "argv", [f"{name}.py", "picture.png"])
        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")
        assert Path("picture.png").read_bytes().startswith(b"\x89PNG")
        printed = unwrapped(capsys.readouterr().out)
        assert "warning" not in printed
        for shown in shown_of(name):
            assert any(alike(shown, line) for line in printed.splitlines()), f"docs/examples.md is stale: {shown}"
        return printed

    return run


def shown_of(name: str) -> list[str]:
    """The lines that docs/examples.md shows of what the script prints."""
    page = (ROOT / "docs" / "examples.md").read_text()
    section = page.partition(f"(../examples/{name}.py)")[2].partition("\n## ")[0]
    lines = unwrapped(section.partition("```text\n")[2].partition("```")[0]).splitlines()
    assert lines, f"docs/examples.md shows nothing of {name}.py"
    return lines


def unwrapped(text: str) -> str:
    """Without the breaks in long lines."""
    return text.replace("\n" + HANG, " ")


def alike(shown: str, printed: str) -> bool:
    """The same words, and numbers that differ no more than between machines with other elementary functions."""
    one, other = (np.array(re.findall(NUMBER, line), dtype=float) for line in (shown, printed))
    same_words = re.sub(NUMBER, "#", shown) == re.sub(NUMBER, "#", printed)
    return same_words and np.allclose(one, other, rtol=0.02, atol=0.005)


def number(text: str, pattern: str) -> float:
    """The number that stands for NUMBER in the pattern."""
    found = re.search(pattern.replace("NUMBER", NUMBER), text)
    assert found is not None, f"{pattern} is not in:\n{text}"
    return float(found[1])


def free_run_error(text: str) -> float:
    return number(text, r"free run.* = NUMBER")


def test_pendulum_finds_the_damping(printed_by: Callable[[str], str]) -> None:
    text = printed_by("pendulum")
    assert number(text, r"residual of omega: NUMBER \* omega \[.*\] nothing else above the noise") == pytest.approx(
        -0.4, abs=0.01
    )
    assert free_run_error(text) < 0.01


def test_dc_motor_finds_friction_and_load(printed_by: Callable[[str], str]) -> None:
    text = printed_by("dc_motor")
    dry = [float(c) for c in re.findall(NUMBER + r" \* tanh\(", text)]
    assert number(text, r"NUMBER \* omega \[") == pytest.approx(-1.0, abs=0.05)
    assert sum(dry) == pytest.approx(-15.0, abs=0.5)
    assert number(text, r"NUMBER \* sin\(theta\)") == pytest.approx(-20.0, abs=0.3)
    assert "network(" not in text
    assert free_run_error(text) < 0.01


def test_quadrotor_altitude_finds_drag_and_mass(printed_by: Callable[[str], str]) -> None:
    text = printed_by("quadrotor_altitude")
    drag = number(text, r"residual of v: NUMBER \* v\*Abs\(v\) \[.*\] ")
    assert drag == pytest.approx(-0.12 / 1.1, abs=0.005)
    assert number(text, r"parameter m = NUMBER") == pytest.approx(1.1, abs=0.003)
    assert free_run_error(text) < 0.03


def test_cart_pole_finds_both_frictions(printed_by: Callable[[str], str]) -> None:
    text = printed_by("cart_pole")
    assert number(text, r"missing in F: NUMBER \* v ") == pytest.approx(-0.6, abs=0.005)
    assert number(text, r"missing in T: NUMBER \* omega ") == pytest.approx(-0.012, abs=0.0002)
    assert "network(" not in text
    assert free_run_error(text) < 0.01


def test_lotka_volterra_finds_the_saturation(printed_by: Callable[[str], str]) -> None:
    text = printed_by("lotka_volterra")
    assert number(text, r"library and network: RMSE / std = NUMBER") < 0.05
    assert number(text, r"parameter h = NUMBER") == pytest.approx(0.25, abs=0.005)
    assert number(text, r"saturation named: RMSE / std = NUMBER") < 0.01


def test_swing_up_is_faster_with_the_learned_friction(printed_by: Callable[[str], str]) -> None:
    pytest.importorskip("do_mpc", reason="needs do-mpc: pip install do-mpc")
    text = printed_by("swing_up")
    assert number(text, r"tau/J - NUMBER\*omega") == pytest.approx(1.5, abs=0.01)
    learned = number(text, r"with the learned friction: upright after NUMBER s")
    assert learned < 0.8 * number(text, r"known physics alone: upright after NUMBER s")
