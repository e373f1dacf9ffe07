"""A fitted model as an FMU (FMI 3.0): model exchange and co-simulation, C sources and a binary for this machine."""

from __future__ import annotations

import hashlib
import io
import os
import platform
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tinyude import __version__
from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError
from tinyude.export.codegen.c_source import c_function
from tinyude.export.core_files import core_files
from tinyude.export.sources import check_prefix, environment
from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.programs import Program

TOLERANCE = 1e-9  # of a co-simulation step, relative to a state's nominal value
SOURCES = ("fmi3.c", "model.c", "solver.c", "elementary.c")
_TEMPLATES = ("fmi3.c", "fmi3.h", "model.c", "model.h", "solver.c", "solver.h")
_FIXED_TIME = (1980, 1, 1, 0, 0, 0)  # in the archive: the same model gives the same bytes
_SYSTEMS = {"Linux": ("linux", "so"), "Darwin": ("darwin", "dylib"), "Windows": ("windows", "dll")}
_MACHINES = {"x86_64": "x86_64", "AMD64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}


def write_fmu(model: Model, path: str | os.PathLike[str], name: str) -> bool:
    """Write a model as an .fmu file.

    Parameters
    ----------
    model : Model
        A fitted model.
    path : path-like
        The file to write, whole or not at all.
    name : str
        The model's identifier; a C name.

    Returns
    -------
    bool
        Whether it holds a binary for this machine. Without a C compiler it holds sources alone, which an importer
        can compile (`fmpy compile`).

    Raises
    ------
    TinyUDEError
        When the name cannot be used, or the sources do not compile.
    """
    files = fmu_files(model, name)
    binary = compiled(files, name)
    content: dict[str, str | bytes] = {**files, **binary}
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
        for member, data in sorted(content.items(), key=lambda item: (item[0] != "modelDescription.xml", item[0])):
            zipped.writestr(zipfile.ZipInfo(member, _FIXED_TIME), data, zipfile.ZIP_DEFLATED)
    write_whole(Path(path), archive.getvalue())
    return bool(binary)


def fmu_files(model: Model, name: str) -> dict[str, str]:
    """Description and sources of an FMU, path to text; the same model always gives the same texts."""
    check_prefix(name)
    physics, field = model.physics, model_program(model)
    slopes = program_derivative(field, range(physics.n_states + physics.n_inputs))
    functions = [_function("model_field", "dx", field, model), _function("model_slopes", "slopes", slopes, model)]
    count = physics.n_states
    facts: dict[str, Any] = {
        "name": name,
        "version": __version__,
        "tolerance": f"{TOLERANCE:g}",
        "sources": SOURCES,
        "nominal": ", ".join(f"{value:.17g}" for value in model.x_scale),
        "functions": functions,
        "states": [
            {"name": state, "reference": 1 + k, "rate": 1 + count + k, "nominal": f"{model.x_scale[k]:.17g}"}
            for k, state in enumerate(physics.states)
        ],
        "inputs": [{"name": held, "reference": 1 + 2 * count + k} for k, held in enumerate(physics.inputs)],
    }
    facts["token"] = hashlib.sha256(repr(facts).encode()).hexdigest()
    templates = environment()
    texts = {f"sources/{file}": templates.get_template(f"fmu/{file}.jinja").render(facts) for file in _TEMPLATES}
    texts["sources/buildDescription.xml"] = templates.get_template("fmu/buildDescription.xml.jinja").render(facts)
    texts["modelDescription.xml"] = templates.get_template("fmu/modelDescription.xml.jinja").render(facts)
    return texts | {f"sources/{file}": text for file, text in core_files(inference_only=True).items()}


def compiled(files: Mapping[str, str], name: str) -> dict[str, bytes]:
    """The binary for this machine, path in the archive to content; nothing where there is no compiler."""
    system, machine = _SYSTEMS.get(platform.system()), _MACHINES.get(platform.machine())
    compiler = shutil.which(os.environ.get("CC") or "cc") or shutil.which("gcc") or shutil.which("clang")
    if system is None or machine is None or compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            (Path(folder) / Path(path).name).write_text(text, encoding="utf-8")
        library = Path(folder) / f"{name}.{system[1]}"
        flags = ["-std=c99", "-O2", "-ffp-contract=off", "-shared", "-fvisibility=hidden", "-DTU_REAL_DOUBLE"]
        flags += [] if system[0] == "windows" else ["-fPIC"]
        command = [compiler, *flags, *SOURCES, "-o", library.name, "-lm"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TinyUDEError(f"{compiler} does not compile the FMU: {done.stderr.strip()[:300]}; set CC to another.")
        return {f"binaries/{machine}-{system[0]}/{library.name}": library.read_bytes()}


def _function(name: str, result: str, program: Program, model: Model) -> dict[str, Any]:
    statements, results = c_function(program, model.physics.n_states)
    return {"name": name, "result": result, "statements": statements, "results": results}
