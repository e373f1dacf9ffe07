"""The compiled core from Python: learners, tapes and memory sizes. The only importer of the extension modules.

Host-only C (tapes, rows of many states) is in this folder; the core itself is in core/src.
"""

from tinyude.native.core import (
    NativeKnown,
    NativeLearner,
    available,
    build_info,
    host_bytes,
    memory,
    service_bytes,
)
from tinyude.native.covariance import band_covariance
from tinyude.native.filter import NativeFilter
from tinyude.native.units import NativeUnits

__all__ = [
    "NativeFilter", "NativeKnown", "NativeLearner", "NativeUnits", "available", "band_covariance", "build_info",
    "host_bytes", "memory", "service_bytes",
]  # fmt: skip
