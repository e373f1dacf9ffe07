"""The sources that a result depends on, as one hash."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import tinyude

# Parts of the package that no result depends on; of the experiments, only the unit's own module is hashed.
PRESENTATION = ("cli", "experiments", "export", "report")


@cache
def package_hash() -> str:
    """Hash of everything a fit depends on: Python sources, and the compiled core if there is one."""
    root = Path(tinyude.__file__).parent
    sources = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in PRESENTATION]
    return _hash_files([*sources, *root.glob("native/_core*")])


@cache
def modules_hash(names: tuple[str, ...]) -> str:
    """Hash of these modules and all that they import from the package."""
    found: dict[str, Path] = {}
    todo = list(names)
    while todo:
        name = todo.pop()
        if name not in found and (path := _source(name)):
            found[name] = path
            todo += _imported(path)
    return _hash_files(list(found.values()))


@cache
def module_hash(name: str) -> str:
    path = _source(name)
    return _hash_files([path]) if path else name


def _source(name: str) -> Path | None:
    spec = find_spec(name)
    return Path(spec.origin) if spec and spec.origin else None


def _imported(path: Path) -> Iterator[str]:
    """Modules of the package that a source file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tinyude."):
            yield node.module or ""


def _hash_files(paths: list[Path]) -> str:
    digest = sha256()
    for path in sorted(paths):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
