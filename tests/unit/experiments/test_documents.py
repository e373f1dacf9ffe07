"""Generated blocks of documents."""

from pathlib import Path

import pytest

from tinyude.errors import TinyUDEError
from tinyude.experiments import NAMES
from tinyude.experiments.documents import fill_block, fill_blocks, read_blocks, table_header

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXT = "# Title\n\n<!-- begin: device#0 -->\nold\n<!-- end: device#0 -->\n\nafter\n"
# Written by `tinyude bench`.
BENCHES = (
    "fleet-scale",
    "session-physics",
    "session-size",
    "session-export",
    "session-predictor",
    "life",
    "paced",
    "optimised",
)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(TEXT)
    return path


def test_fill_blocks_replaces_the_block_and_nothing_else(document: Path) -> None:
    assert fill_blocks(document, {"device#0": "| a |\n|---|\n| 1 |", "other": "x"}) == ["device#0"]
    assert document.read_text() == TEXT.replace("old", "| a |\n|---|\n| 1 |")
    assert table_header(read_blocks(document)["device#0"]) == ["a"]


def test_fill_block_rejects_a_block_that_is_not_there(document: Path) -> None:
    with pytest.raises(TinyUDEError, match="no block <!-- begin: zoo#1"):
        fill_block(document, "zoo#1", "text")
    assert document.read_text() == TEXT


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_blocks_of_the_documents_name_what_writes_them(path: Path) -> None:
    text = path.read_text()
    blocks = read_blocks(path)
    assert text.count("<!-- begin: ") == len(blocks) == text.count("<!-- end: ")
    for name, block in blocks.items():
        source = name.split("#")[0]
        assert source in (*NAMES, *BENCHES) or (ROOT / "examples" / f"{source}.py").is_file(), name
        assert block, f"{name} is empty: run the command that writes it"
