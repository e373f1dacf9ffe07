"""Generated blocks of Markdown documents, whose figures a command writes.

A block lies between `<!-- begin: NAME -->` and `<!-- end: NAME -->`, each on a line of its own. NAME is an experiment's
table (`device#0`: the first table of `tinyude reproduce device`), a benchmark or the example that prints it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError

_BLOCK = re.compile(r"^<!-- begin: (\S+) -->\n(.*?)^<!-- end: \1 -->$", re.MULTILINE | re.DOTALL)


def read_blocks(document: Path) -> dict[str, str]:
    """The generated blocks of a document, by name."""
    return {name: text.strip() for name, text in _BLOCK.findall(document.read_text(encoding="utf-8"))}


def fill_blocks(document: Path, texts: Mapping[str, str]) -> list[str]:
    """Replace the blocks that are named in `texts` and return their names; the rest of the document is not changed."""
    before = document.read_text(encoding="utf-8")
    filled: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        name = match[1]
        if name not in texts:
            return match[0]
        filled.append(name)
        return f"<!-- begin: {name} -->\n{texts[name].strip()}\n<!-- end: {name} -->"

    after = _BLOCK.sub(replaced, before)
    if after != before:
        write_whole(document, after)
    return filled


def fill_block(document: Path, name: str, text: str) -> None:
    """Replace one block, which must exist."""
    if name not in fill_blocks(document, {name: text}):
        raise TinyUDEError(f"{document} has no block <!-- begin: {name} --> ... <!-- end: {name} -->; add it.")


def table_header(markdown: str) -> list[str]:
    """The column titles of the first table in a text."""
    first = next((line for line in markdown.splitlines() if line.startswith("|")), "")
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", first)[1:-1]]
