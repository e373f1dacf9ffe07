"""The C core's sources, and what sizes need of the firmware, wherever this package keeps them."""

from __future__ import annotations

from pathlib import Path

_PREDICTOR = ("tinyude.h", "real.h", "elementary.h", "elementary.c")


def core_folder() -> Path:
    """`include` and `src` of the core: inside an installed package, else in the source tree around it."""
    bundled = Path(__file__).parent / "core"
    return bundled if bundled.is_dir() else Path(__file__).parents[3] / "core"


def firmware_file(path: str) -> Path:
    """A file of `firmware`, where the core is."""
    return core_folder().parent / "firmware" / path


def core_files(inference_only: bool) -> dict[str, str]:
    """Names and texts of the files that a learner, or a predictor alone, is compiled from; and their licence."""
    folder = core_folder()
    paths = [*folder.glob("include/*.h"), *folder.glob("src/*.[ch]")]
    wanted = {path.name: path for path in sorted(paths) if not inference_only or path.name in _PREDICTOR}
    licence = folder / "LICENSE"
    wanted["LICENSE"] = licence if licence.is_file() else folder.parent / "LICENSE"
    return {name: path.read_text(encoding="utf-8") for name, path in wanted.items()}
