"""The compiled core: one extension for each precision, and one more of each for processors with AVX2.

Everything else about the package is in pyproject.toml. Extensions are optional: without a compiler the package
installs all the same and learns with its NumPy engine. With TINYUDE_REQUIRE_CORE set, as for wheels, they are not.
"""

import os
import platform
import re
import shutil
from pathlib import Path

from cffi import FFI
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

HEADERS = [
    "core/include/tinyude.h",
    "src/tinyude/native/tape.h",
    "src/tinyude/native/covariance.h",
    "src/tinyude/native/filter.h",
    "src/tinyude/native/host.h",
    "src/tinyude/native/simulate.h",
    "src/tinyude/native/units.h",
]
SOURCE_FOLDERS = ["core/src", "src/tinyude/native"]
# Nothing here lets a compiler change a bit: no contraction, no reassociation.
FLAGS = [
    "-O3",
    "-g0",
    "-std=c99",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fno-wrapv",  # some Pythons add -fwrapv, under which loops are not put into lanes
    "-fno-tree-loop-distribute-patterns",  # GCC: tiles go from registers to memory, not by way of memcpy
    "-fopenmp-simd",
    "-fvisibility=hidden",
]
REALS = {"32": "float", "64": "double"}
VARIANTS = {"": []} | ({"_v3": ["-march=x86-64-v3"]} if platform.machine() in ("x86_64", "AMD64") else {})


def declarations(header: str) -> str:
    """A header as cffi reads it: with its integer constants, without the preprocessor and the choice of tu_real."""
    text = re.sub(r"/\*.*?\*/", "", Path(header).read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    constant = re.compile(r"#define \w+ \d+\s*")
    lines = [line for line in text.splitlines() if not line.startswith("#") or constant.fullmatch(line)]
    return "\n".join(line for line in lines if not re.fullmatch(r"typedef \w+ tu_real;|extern const .*;\s*", line))


def files(suffix: str) -> list[str]:
    folders = [*SOURCE_FOLDERS, "core/include"]
    return sorted(path.as_posix() for folder in folders for path in Path(folder).rglob(f"*.{suffix}"))


def extension(bits: str, variant: str) -> Extension:
    builder = FFI()
    builder.cdef(f"typedef {REALS[bits]} tu_real;")
    for header in HEADERS:
        builder.cdef(declarations(header))
    builder.set_source(
        f"tinyude.native._core{bits}{variant}",
        "\n".join(f'#include "{Path(header).name}"' for header in HEADERS),
        sources=files("c"),
        depends=files("h"),
        include_dirs=["core/include", *SOURCE_FOLDERS],
        define_macros=[("TU_SIMD", None)] + [("TU_REAL_DOUBLE", None)] * (bits == "64"),
        extra_compile_args=FLAGS + VARIANTS[variant],
        py_limited_api=True,
        optional="TINYUDE_REQUIRE_CORE" not in os.environ,
    )
    return builder.distutils_extension("build/cffi", verbose=False)


class BuildForCompiler(build_ext):
    """The flags above are those of GCC and Clang; Microsoft's compiler has its own."""

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "msvc":
            for extension in self.extensions:
                vectors = ["/arch:AVX2"] if "-march=x86-64-v3" in extension.extra_compile_args else []
                extension.extra_compile_args = ["/O2", "/fp:precise", "/std:c11", *vectors]
                extension.define_macros = [macro for macro in extension.define_macros if macro[0] != "TU_SIMD"]
        super().build_extensions()


class BuildWithCore(build_py):
    """A package that carries the core's sources, for `tinyude export`; a source tree has them already."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            bundled = Path(self.build_lib) / "tinyude" / "export" / "core"
            shutil.rmtree(bundled, ignore_errors=True)
            for folder in ("include", "src"):
                shutil.copytree(Path("core") / folder, bundled / folder)
            shutil.copy("LICENSE", bundled)
            firmware = bundled.parent / "firmware"  # for `tinyude size`
            shutil.rmtree(firmware, ignore_errors=True)
            shutil.copytree("firmware", firmware)


setup(
    cmdclass={"build_ext": BuildForCompiler, "build_py": BuildWithCore},
    ext_modules=[extension(bits, variant) for variant in VARIANTS for bits in REALS],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
