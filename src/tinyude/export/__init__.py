"""From a fitted model to a folder that builds unchanged, and to other tools.

`codegen` writes programs as C, `chip` sizes the learner, `packages` and `folder` write it, `footprint` and `stack`
measure flash, RAM and stack, `boards` holds tool chains and chipsets; `*_model` and `fmu` are the model in CasADi, JAX,
SymPy, python-control and FMI.
"""

from tinyude.export.chip import Chip, chip_of_model, chip_of_physics
from tinyude.export.folder import write_folder
from tinyude.export.packages import TARGETS, export_files

__all__ = ["TARGETS", "Chip", "chip_of_model", "chip_of_physics", "export_files", "write_folder"]
