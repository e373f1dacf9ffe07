"""From SymPy to what runs without it: tapes for the host, C for the chip."""

from tinyude.codegen.c_config import c_literal, config_header
from tinyude.codegen.c_source import c_source, check_c_name
from tinyude.codegen.tape import tape_arrays

__all__ = ["c_literal", "c_source", "check_c_name", "config_header", "tape_arrays"]
