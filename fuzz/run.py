"""Builds and runs every fuzzer for some minutes of CPU each, and reports how many inputs each tried per second.

The fuzzers run in rounds, each with its own seed, and continue from the inputs that they kept. Time is measured in
minutes of CPU, because wall-clock time depends on other work of the machine.

python fuzz/run.py --minutes 10 --only csv npz --document SECURITY.md    (the table there is written by this command)
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
CORE = ("learner", "learner64", "service")
READERS = ("expression", "toml", "csv", "npz", "mat", "model", "link")
ROUND = 60.0  # s of CPU
RUNS_A_SECOND = 500  # of a target of the core whose speed is not known yet
HEADER = "| target | minutes of CPU | runs without a finding | runs a second of CPU |\n|---|---|---|---|"

_CELLS = HEADER.splitlines()[0].count("|")


def build(target: str, folder: Path) -> Path:
    """Build the program of a target of the core."""
    program = folder / target
    subprocess.run([HERE / "build.sh", target, program], check=True)
    return program


def core(target: str, runs: int, folder: Path, seed: int) -> int:
    """Run a built target of the core, starting from its corpus; returns the number of runs that libFuzzer reports.

    Without entropic schedules, and with inputs of 100 bytes instead of 200, it is twice as fast with the same coverage.
    """
    program = folder / target
    grown = folder / f"corpus-{target}"
    grown.mkdir(parents=True, exist_ok=True)
    limits = [f"-runs={runs}", "-max_len=100", "-len_control=0", "-entropic=0", "-timeout=120"]
    corpus = HERE / "corpus" / target.removesuffix("64")
    command = [program, f"-seed={seed}", *limits, f"-artifact_prefix={folder}/", grown, corpus]
    done = subprocess.run(list(map(str, command)), stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{target} found something:\n{done.stderr[-3000:]}")
    told = re.search(r"Done (\d+) runs in", done.stderr)
    if told is None:
        raise RuntimeError(f"{target} does not say how often it ran:\n{done.stderr[-3000:]}")
    return int(told[1])


def reader(target: str, seconds: float, folder: Path, seed: int) -> int:
    """Run a target of the readers in its own process; returns the number of runs."""
    command = [sys.executable, HERE / "readers.py", target, "--seconds", seconds, "--findings", folder, "--seed", seed]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{target} found something:\n{done.stdout}{done.stderr[-3000:]}")
    return int(json.loads(done.stdout)["runs"])


def cpu_seconds(work: Callable[[], int]) -> tuple[int, float]:
    """Result of `work` in other processes, and its CPU time there."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    given = work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return given, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(target: str, seconds: float, folder: Path, seed: int = 1, speed: float = RUNS_A_SECOND) -> tuple[int, float]:
    """Run one built target for about so many seconds of CPU; returns the number of runs and their CPU time.

    libFuzzer measures wall-clock time only, so a target of the core gets a number of runs: `speed` runs a second.
    """
    if target in READERS:
        return cpu_seconds(lambda: reader(target, seconds, folder, seed))
    return cpu_seconds(lambda: core(target, int(seconds * speed), folder, seed))


def merged(document: Path, told: dict[str, str]) -> str:
    """The table with a row for each target: new figures, and the document's for the others."""
    from tinyude.experiments.documents import read_blocks

    rows = [row for row in read_blocks(document).get("fuzz", "").splitlines()[2:] if row.count("|") == _CELLS]
    kept = {row.split("|")[1].strip(): row for row in rows}
    table = [told.get(target) or kept.get(target) for target in (*READERS, *CORE)]
    return "\n".join([HEADER, *filter(None, table)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="CPU time of each target")
    parser.add_argument("--only", nargs="+", choices=(*READERS, *CORE), default=(*READERS, *CORE))
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument("--document", type=Path, help="write the table into its block `fuzz`, after every round")
    given = parser.parse_args()
    folder = HERE / "findings"
    folder.mkdir(exist_ok=True)
    for target in set(given.only) & set(CORE):
        build(target, folder)
    runs, used = dict.fromkeys(given.only, 0), dict.fromkeys(given.only, 0.0)
    seed = given.seed
    while waiting := [target for target in given.only if used[target] < 60.0 * given.minutes]:
        for target in waiting:
            speed = runs[target] / used[target] if used[target] else RUNS_A_SECOND
            more, took = run(target, ROUND, folder, seed, speed)
            runs[target], used[target] = runs[target] + more, used[target] + took
            print(f"{target}, seed {seed}: {runs[target]} runs in {used[target]:.0f} s of CPU", flush=True)
        seed += 1
        if given.document:
            from tinyude.experiments.documents import fill_block

            fill_block(given.document, "fuzz", merged(given.document, table_rows(runs, used)))
    return 0


def table_rows(runs: dict[str, int], used: dict[str, float]) -> dict[str, str]:
    """The rows of the table, by target."""
    return {
        target: f"| {target} | {used[target] / 60.0:.1f} | {runs[target]:,} | {runs[target] / used[target]:,.0f} |"
        for target in runs
    }


if __name__ == "__main__":
    sys.exit(main())
