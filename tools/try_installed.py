"""Checks an installed package: fit, simulate, save, load, the command; with the compiled core, export.

Run it from any folder, in an environment with nothing else installed: python tools/try_installed.py
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tinyude as tu
from tinyude import native


def main() -> None:
    assert "TINYUDE_REQUIRE_CORE" not in os.environ or native.available(), "the compiled core is missing"
    t, samples = tu.systems.pendulum("A").stream(noise=0.01)
    physics = tu.Physics(["theta", "omega"], ["omega", "-(g/L)*sin(theta)"], parameters={"g": 9.81, "L": 1.0})
    ude = tu.UDE(physics).fit(samples, t=t)
    damping = float(ude.residual([[0.0, 1.0]])[0, 1])
    assert abs(damping + 0.4) < 0.01, damping
    times = np.linspace(0.0, 2.0, 21)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ude.save(folder / "pendulum.tinyude")
        again = tu.load(folder / "pendulum.tinyude")
        assert np.array_equal(again.simulate([1.0, 0.0], times), ude.simulate([1.0, 0.0], times))
        run(folder, "report", "pendulum.tinyude", "--out", "pendulum.html")
        assert (folder / "pendulum.html").is_file()
        if native.available():
            run(folder, "export", "pendulum.tinyude", "--target", "c", "--out", "board")
            assert (folder / "board" / "src" / "pendulum.c").is_file()
            assert (folder / "board" / "src" / "tinyude" / "learner.c").is_file()
    core = "the compiled core" if native.available() else "NumPy alone"
    print(f"tinyude {tu.__version__} works with {core}: damping {damping:.4f} of -0.4")


def run(folder: Path, *words: str) -> None:
    subprocess.run([sys.executable, "-m", "tinyude", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
