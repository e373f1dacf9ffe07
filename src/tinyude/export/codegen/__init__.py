"""From programs to C for the chip, and the learner's configuration as a C header.

`c_source` writes a program, `c_config` a configuration, `templates` fills files. Numbers are written so that C reads
the same bits.
"""

from tinyude.export.codegen.c_config import c_literal, config_header
from tinyude.export.codegen.c_source import c_source, check_c_name

__all__ = ["c_literal", "c_source", "check_c_name", "config_header"]
