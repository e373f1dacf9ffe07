"""Writes docs/constants.md: every named number of the estimator, with its value, meaning and evidence.

Names, values and meanings come from the sources, evidence from docs/constants.toml, the effect of other values from
docs/constants_varied.json, which tools/vary_constants.py writes.
"""

from __future__ import annotations

import ast
import json
import math
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tinyude"
ROOMS = ("physics", "estimator", "refinement", "training", "model", "reference")
CORE = ROOT / "core" / "src"
TWINS = {"regression/library_solve.c": "regression/library.py"}  # where the names of the files differ
REAL = r"\b([A-Z][A-Z0-9_]+) = TU_R\(([-+.\de]+)\)"
WHOLE = r"\b([A-Z][A-Z0-9_]+) = (\d+(?: << \d+)?)(?= ?[,}])"
EVIDENCE, PAGE = ROOT / "docs" / "constants.toml", ROOT / "docs" / "constants.md"
VARIED = ROOT / "docs" / "constants_varied.json"
# Constants that the common records do not show, by the study of tools/constant_studies.py that does.
STUDIES = {
    "noise": [f"training/batch/samples.py:{name}" for name in ("NEIGHBOURS", "ORDERS", "ALIKE", "BURSTS")],
    "stream_noise": ["reference/signal/noise.py:HALF", "reference/signal/noise.py:POLY"],
    "feedback": ["training/batch/feedback.py:PAST"],
    "jumps": ["model/changed_dynamics.py:BLOCKS", "model/changed_dynamics.py:LEAST"],
    "intervals": [f"model/uncertainty.py:{name}" for name in ("BLOCKS", "LEAST_SHARE", "RIDGE")],
    "network": ["training/presets.py:CHIP_HOLDOUT", "training/presets.py:_RATE_ALONE"],
    "window_order": ["training/data_defaults.py:_FEWEST", "training/data_defaults.py:_MOST"],
    "unidentified": ["refinement/identified.py:UNSURE", "refinement/refine.py:KEEPING"],
    "switches": ["model/simulation.py:SHORTEST"],
    "extrapolation": ["model/simulation.py:MARGIN"],
}

HEAD = """# Constants and their evidence

Every named number of the physics, the estimator, the refinement, the verdict and the streaming learner, written by
`python tools/write_constants_page.py`. `core/src` has the same numbers as `reference/`, which a test checks;
constants that only `core/src` has are listed last.

| evidence | what it means | constants |
|---|---|---|
"""


@dataclass(frozen=True)
class Constant:
    """A named number of a module."""

    file: str
    name: str
    value: str
    meaning: str


def constants(path: Path, file: str) -> list[Constant]:
    """Upper-case names of a module whose values are numbers or tuples of numbers, with the comment on their line."""
    text = path.read_text(encoding="utf-8")
    lines, found = text.splitlines(), []
    for node in ast.parse(text).body:
        if not (isinstance(node, ast.Assign) and _numeric(node.value)):
            continue
        meaning = lines[node.lineno - 1].partition("  # ")[2].rstrip(",;")
        target = node.targets[0]
        both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
        pairs = zip(target.elts, node.value.elts, strict=True) if both else [(target, node.value)]
        for name, value in pairs:
            if isinstance(name, ast.Name) and name.id.isupper():
                found.append(Constant(file, name.id, ast.unparse(value), meaning))
    return found


def all_constants() -> list[Constant]:
    """Constants of all rooms in the order of files, then those of the core that its NumPy twin does not have."""
    paths = [path for room in ROOMS for path in sorted((PACKAGE / room).rglob("*.py"))]
    found = [each for path in paths for each in constants(path, path.relative_to(PACKAGE).as_posix())]
    for path in sorted(CORE.rglob("*.c")):
        inner = path.relative_to(CORE)
        twin = f"reference/{TWINS.get(inner.as_posix(), inner.with_suffix('.py').as_posix())}"
        twins = {each.name for each in found if each.file == twin}
        found += [each for each in c_constants(path, f"core/{inner.as_posix()}") if each.name not in twins]
    return found


def evidence() -> tuple[dict[str, str], dict[tuple[str, str], str], dict[str, str]]:
    """The meaning of each kind, the kind of each constant by file and name, and notes by "file:name"."""
    content = tomllib.loads(EVIDENCE.read_text(encoding="utf-8"))
    kinds, notes = content.pop("kinds"), content.pop("notes")
    entries = [((file, name), kind) for file, rows in content.items() for kind, names in rows.items() for name in names]
    if len(dict(entries)) != len(entries):
        raise ValueError(f"{EVIDENCE.name} names a constant twice")
    if unknown := {kind for _, kind in entries} - kinds.keys():
        raise ValueError(f"{EVIDENCE.name} has no kind {', '.join(sorted(unknown))}")
    return kinds, dict(entries), notes


def c_constants(path: Path, file: str) -> list[Constant]:
    """Numbers that a C source names at file scope: static const tu_real, and enumerators."""
    found = {}
    for line in re.sub(r"=\n\s+", "= ", path.read_text(encoding="utf-8")).splitlines():
        code, _, comment = line.partition("/*")
        form = REAL if line.startswith("static const") else WHOLE if line.startswith("enum {") else None
        for name, value in re.findall(form, code) if form else ():
            found[name] = Constant(file, name, value, comment.strip(" */,;"))
    return list(found.values())


def effect(constant: Constant) -> str:
    """The effect of other values on the error, if they were tried: mean ratio, and the largest with its record."""
    tried = json.loads(VARIED.read_text(encoding="utf-8")).get(f"{constant.file}:{constant.name}", {})
    return "".join(f"; {value}: {_summary(ratios)}" for value, ratios in tried.items())


def _summary(ratios: dict[str, float]) -> str:
    if not ratios:
        return "a fit fails"
    if set(ratios.values()) == {1.0}:
        return "the same"
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    worst = max(ratios, key=lambda name: ratios[name])
    return f"{mean:.2f}, {ratios[worst]:.2g} at worst" + (f" ({worst})" if ratios[worst] > 1.005 else "")


def page() -> str:
    """The text of the page."""
    kinds, kind_of, notes = evidence()
    rows = all_constants()
    counts = {kind: sum(kind_of[c.file, c.name] == kind for c in rows) for kind in kinds}
    head = HEAD + "".join(f"| {kind} | {text} | {counts[kind]} |\n" for kind, text in kinds.items())
    parts = [head]
    for room in (*ROOMS, "core"):
        parts.append(f"\n## {room}\n\n| name | value | where | meaning | evidence |\n|---|---|---|---|---|\n")
        for c in rows:
            if c.file.startswith(f"{room}/"):
                note = notes.get(f"{c.file}:{c.name}")
                told = kind_of[c.file, c.name] + effect(c) + (f": {note}" if note else "")
                where = c.file.removeprefix(f"{room}/")
                parts.append(f"| `{c.name}` | {c.value} | `{where}` | {c.meaning.replace('|', '/')} | {told} |\n")
    return "".join(parts)


def _numeric(node: ast.expr) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(map(_numeric, node.elts))
    if isinstance(node, ast.BinOp):
        return _numeric(node.left) and _numeric(node.right)
    if isinstance(node, ast.UnaryOp):
        return _numeric(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
