"""Checks that a tag may be published: python tools/check_release.py vX.Y.Z.

The tag must be the package's version, and the changelog's newest entry must be that version with its date.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def wrong(tag: str, package: str, changelog: str) -> list[str]:
    """Reasons against the release, given the texts of the package's `__init__.py` and of the changelog."""
    version = re.search(r'^__version__ = "(.+)"$', package, re.MULTILINE)[1]
    newest, date = re.search(r"^## \[(.+?)\] - (.+)$", changelog, re.MULTILINE).groups()
    found = []
    if tag != f"v{version}":
        found.append(f"the tag is {tag}, the package's version {version}")
    if newest != version:
        found.append(f"the changelog's newest entry is {newest}, the package's version {version}")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", date):
        found.append(f"the changelog's date of {newest} is {date!r}; write YYYY-MM-DD")
    return found


if __name__ == "__main__":
    texts = [(ROOT / name).read_text(encoding="utf-8") for name in ("src/tinyude/__init__.py", "CHANGELOG.md")]
    sys.exit("; ".join(wrong(sys.argv[1], *texts)) or 0)
