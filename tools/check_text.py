"""Checks tracked text files against .editorconfig: `python tools/check_text.py`, part of `make lint`.

UTF-8, line feeds, a final newline, no trailing white space, tabs only where .editorconfig sets them.
"""

from __future__ import annotations

import configparser
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def sections(key: str, value: str) -> list[str]:
    """File patterns for which .editorconfig sets this value."""
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    return [name for name in rules.sections() if rules[name].get(key) == value]


def faults(content: bytes, tabs: bool) -> list[str]:
    """Faults of a file, each with its first line; none for a binary file."""
    if b"\0" in content:
        return []
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        return ["not UTF-8"]
    lines = text.split("\n")
    checks = {
        "carriage return": [line.endswith("\r") for line in lines],
        "white space at the end": [line != line.rstrip(" \t") for line in lines],
        "tab as indentation": [line.startswith("\t") and not tabs for line in lines],
    }
    found = [f"line {hits.index(True) + 1}: {name}" for name, hits in checks.items() if any(hits)]
    return found + (["no newline at the end"] if text and not text.endswith("\n") else [])


def main() -> int:
    tabs, left_alone = sections("indent_style", "tab"), sections("charset", "unset")
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    wrong = 0
    for name in filter(None, names.split("\0")):
        path = ROOT / name
        if not path.is_file() or any(fnmatch(name, pattern) for pattern in left_alone):
            continue
        for fault in faults(path.read_bytes(), any(fnmatch(path.name, pattern) for pattern in tabs)):
            print(f"{name}: {fault}")
            wrong += 1
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
