"""The C core's sources, and what sizes need of the firmware, wherever this package keeps them."""

from __future__ import annotations

import re
from pathlib import Path

_PREDICTOR = ("tinyude.h", "real.h", "elementary.h", "elementary.c")
_INCLUDE = re.compile(r'#include "\w+/(\w+\.h)"')


def core_folder() -> Path:
    """`include` and `src` of the core: inside an installed package, else in the source tree around it."""
    bundled = Path(__file__).parent / "core"
    return bundled if bundled.is_dir() else Path(__file__).parents[3] / "core"


def firmware_file(path: str) -> Path:
    """A file of `firmware`, where the core is."""
    return core_folder().parent / "firmware" / path


def core_files(inference_only: bool) -> dict[str, str]:
    """Names and texts of the files that a learner, or a predictor alone, is compiled from; and their licence.

    An export keeps them in one folder, which every build system takes as it is: includes lose their folders.
    """
    folder = core_folder()
    paths = [*folder.glob("include/*.h"), *folder.rglob("src/**/*.[ch]")]
    wanted = {path.name: path for path in sorted(paths) if not inference_only or path.name in _PREDICTOR}
    licence = folder / "LICENSE"
    wanted["LICENSE"] = licence if licence.is_file() else folder.parent / "LICENSE"
    return {name: _INCLUDE.sub(r'#include "\1"', path.read_text(encoding="utf-8")) for name, path in wanted.items()}
