"""Builds and runs every fuzzer for some minutes each, and says how many inputs each tried a second."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
CORE = ("learner", "learner64", "service")
READERS = ("expression", "toml", "csv", "npz", "mat", "model")


def core(target: str, seconds: int, folder: Path) -> str:
    """Run a target of the core, starting from its corpus; the speed as libFuzzer tells it."""
    program = folder / target
    subprocess.run([HERE / "build.sh", target, program], check=True)
    grown = folder / f"corpus-{target}"
    grown.mkdir(parents=True, exist_ok=True)
    limits = [f"-max_total_time={seconds}", "-max_len=300", "-len_control=0", "-timeout=120"]
    command = [program, *limits, f"-artifact_prefix={folder}/", grown, HERE / "corpus" / "core"]
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{target} found something:\n{done.stderr[-3000:]}")
    told = re.search(r"Done (\d+) runs in (\d+) second", done.stderr)
    return f"{target}: {told[1]} runs in {told[2]} s" if told else target


def reader(target: str, seconds: float, folder: Path) -> str:
    """Run a target of the readers in a process of its own."""
    command = [sys.executable, HERE / "readers.py", target, "--seconds", str(seconds), "--findings", folder]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{target} found something:\n{done.stdout}{done.stderr[-3000:]}")
    return done.stdout.strip()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    seconds = 60.0 * parser.parse_args().minutes
    folder = HERE / "findings"
    folder.mkdir(exist_ok=True)
    for target in READERS:
        print(reader(target, seconds, folder), flush=True)
    for target in CORE:
        print(core(target, int(seconds), folder), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
