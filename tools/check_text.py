"""Checks that tracked text files are as .editorconfig says: `python tools/check_text.py`, a part of `make lint`.

UTF-8, line feeds, a final newline, no white space at a line's end, tabs only where the section of a file says so.
"""

from __future__ import annotations

import configparser
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def sections(key: str, value: str) -> list[str]:
    """Patterns of files for which .editorconfig says so."""
    rules = configparser.ConfigParser()
    rules.read_string("[top]\n" + (ROOT / ".editorconfig").read_text(encoding="utf-8"))
    return [name for name in rules.sections() if rules[name].get(key) == value]


def faults(content: bytes, tabs: bool) -> list[str]:
    """What is wrong with a file, with the first line of each fault; nothing for a file that is no text."""
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
