"""Halves and doubles constants, one at a time, and writes the effects to docs/constants_varied.json.

    python tools/vary_constants.py                                   all that are "varied" in docs/constants.toml
    python tools/vary_constants.py training/batch/regression.py:TWO_WAY     some; other figures are kept

Each value is written into a copy of the sources, with which another process computes the figures, so that every use of
the constant is affected. Figures are ratios to those with the current value, from the same run. Constants of the
windows are evaluated without refinement, those of refinement with it, those of the stream by the streaming learner,
those of the board's service by exports compiled with them, some by a separate study.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from write_constants_page import CORE, PACKAGE, ROOT, STUDIES, VARIED, Constant, all_constants, effect, evidence

RECORDS = Path(__file__).with_name("constant_records.py")


def main(wanted: list[str]) -> None:
    _, kind_of, _ = evidence()
    chosen = [c for c in all_constants() if kind_of[c.file, c.name] == "varied" and (not wanted or key(c) in wanted)]
    found = json.loads(VARIED.read_text(encoding="utf-8")) if VARIED.exists() and wanted else {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        shutil.copytree(PACKAGE, copy / "src" / "tinyude")
        shutil.copytree(CORE.parent, copy / "core")
        shutil.copy(ROOT / "LICENSE", copy)
        stands: dict[str, dict[str, float]] = {}
        for constant in chosen:
            found[key(constant)], room = {}, judged_by(constant)
            for value in neighbours(ast.literal_eval(_evaluated(constant.value))):
                before = stands[room] = stands.get(room) or errors(copy, room)
                now = varied(copy, constant, value, room)
                found[key(constant)][repr(value)] = {name: round(now[name] / before[name], 4) for name in now}
            write(found)
            print(key(constant), effect(constant), flush=True)


def write(found: dict[str, Any]) -> None:
    """Write one line per constant."""
    lines = [f"{json.dumps(name)}: {json.dumps(ratios)}" for name, ratios in sorted(found.items())]
    VARIED.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def key(constant: Constant) -> str:
    return f"{constant.file}:{constant.name}"


def judged_by(constant: Constant) -> str:
    """The set of records that shows a constant's effect."""
    first = constant.file.partition("/")[0]
    own = next((study for study, keys in STUDIES.items() if key(constant) in keys), None)
    return own or {"refinement": "refinement", "reference": "streaming", "core": "board"}.get(first, "windows")


def neighbours(value: Any) -> list[Any]:
    """A lower and a higher value: half and double; for small integers the next ones; for x in [0.5, 1) by 1 - x."""
    if isinstance(value, tuple):
        pairs = [neighbours(each) if each else [each, each] for each in value]
        return [tuple(pair[side] for pair in pairs) for side in (0, 1)]
    if isinstance(value, int):
        return [value - 1, value + 1] if value <= 5 else [value // 2, 2 * value]
    if 0.5 <= value < 1.0:
        return [round(1.0 - 2.0 * (1.0 - value), 12), round(1.0 - (1.0 - value) / 2.0, 12)]
    return [value / 2.0, 2.0 * value]


def varied(copy: Path, constant: Constant, value: Any, room: str) -> dict[str, float]:
    """Errors of the records with another value."""
    inner = constant.file.removeprefix("core/")
    in_c = inner != constant.file
    path = copy / "core" / "src" / inner if in_c else copy / "src" / "tinyude" / inner
    text = path.read_text(encoding="utf-8")
    try:
        path.write_text((with_c_value if in_c else with_value)(text, constant.name, value), encoding="utf-8")
        return errors(copy, room)
    finally:
        path.write_text(text, encoding="utf-8")


def with_value(text: str, name: str, value: Any) -> str:
    """A module's text with another value of the constant."""
    for node in ast.parse(text).body:
        if not isinstance(node, ast.Assign):
            continue
        target, given = node.targets[0], node.value
        both = isinstance(target, ast.Tuple) and isinstance(given, ast.Tuple)
        for one, old in zip(target.elts, given.elts, strict=True) if both else [(target, given)]:
            if isinstance(one, ast.Name) and one.id == name and old.lineno == old.end_lineno:
                lines = text.splitlines(keepends=True)
                line = lines[old.lineno - 1].encode()
                new = line[: old.col_offset] + repr(value).encode() + line[old.end_col_offset :]
                lines[old.lineno - 1] = new.decode()
                return "".join(lines)
    raise ValueError(f"{name} is not written on one line")


def with_c_value(text: str, name: str, value: Any) -> str:
    """A C source's text with another value of the constant."""
    new = str(value) if isinstance(value, int) else f"TU_R({value!r})"
    changed, count = re.subn(rf"\b{name} = (TU_R\([^)]*\)|\d+)", f"{name} = {new}", text, count=1)
    if not count:
        raise ValueError(f"{name} is not a named number")
    return changed


def errors(copy: Path, room: str) -> dict[str, float]:
    """Errors of all records, fitted by another process with the package in `copy`; empty if that fails."""
    done = subprocess.run(
        [sys.executable, RECORDS, room],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": str(copy / "src")},
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout) if done.returncode == 0 else {}
    return found


def _evaluated(text: str) -> str:
    return repr(eval(text, {"__builtins__": {}}))


if __name__ == "__main__":
    main(sys.argv[1:])
