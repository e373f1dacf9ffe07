"""The core's inner functions from Python: its own headers, preprocessed, are the binding."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
from cffi import FFI
from numpy.typing import ArrayLike, NDArray

Array = NDArray[Any]
CORE = Path(__file__).parents[2] / "core"
FLAGS = ["-std=c99", "-ffp-contract=off", f"-I{CORE / 'include'}", f"-I{CORE / 'src'}"]
DEFINES = {"float32": [], "float64": ["-DTU_REAL_DOUBLE"]}
ARENA_WORDS = 1 << 17
_INLINE = re.compile(r"^static inline [^;{]*?\{(?:[^\n]*\}$|.*?^\}$)", re.MULTILINE | re.DOTALL)


class Core:
    """The core compiled in one precision, with every function of its headers in `lib` (but for the inline ones)."""

    def __init__(self, precision: str, folder: Path) -> None:
        self.dtype = np.dtype(precision)
        self.ffi = FFI()
        self.ffi.cdef(_declarations(DEFINES[precision]))
        library = folder / f"core-{precision}.so"
        sources = sorted(map(str, (CORE / "src").rglob("*.c")))
        subprocess.run(
            ["cc", *FLAGS, *DEFINES[precision], "-O0", "-shared", "-fPIC", *sources, "-lm", "-o", str(library)],
            check=True,
        )
        self.lib = self.ffi.dlopen(str(library))
        self._alive: list[Any] = []

    def new(self, ctype: str) -> Any:
        return self.ffi.new(f"{ctype} *")

    def array(self, values: ArrayLike) -> Array:
        return np.array(values, self.dtype, order="C")

    def pointer(self, values: ArrayLike) -> Any:
        """To an array of reals; of `array`'s when it is one, so that what C writes is seen."""
        given = values if isinstance(values, np.ndarray) and values.dtype == self.dtype else self.array(values)
        pointer = self.ffi.from_buffer("tu_real[]", given)
        self._alive.append(pointer)
        return pointer

    def arena(self) -> Any:
        memory = self.ffi.from_buffer("unsigned char[]", np.zeros(ARENA_WORDS, np.uint64))
        self._alive.append(memory)
        arena = self.new("tu_arena")
        arena.base, arena.used = memory, 0
        return arena

    def read(self, pointer: Any, *shape: int) -> Array:
        count = int(np.prod(shape))
        buffer = self.ffi.buffer(pointer, count * self.dtype.itemsize)
        return np.frombuffer(buffer, self.dtype).reshape(shape).copy()


def _declarations(defines: list[str]) -> str:
    """All headers as cffi reads them: the core's own lines, without inline functions."""
    source_folder = CORE / "src"
    headers = sorted(path.relative_to(source_folder).as_posix() for path in source_folder.rglob("*.h"))
    source = "".join(f'#include "{header}"\n' for header in headers)
    text = subprocess.run(
        ["cc", *FLAGS, *defines, "-E", "-"], input=source, capture_output=True, text=True, check=True
    ).stdout
    kept, ours = [], False
    for line in text.splitlines():
        if marker := re.match(r'# \d+ "(.*?)"', line):
            ours = Path(marker[1]).is_relative_to(CORE)
        elif ours:
            kept.append(line)
    return _INLINE.sub("", "\n".join(kept))
