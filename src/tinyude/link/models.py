"""A board's model as a small JSON file, and back."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.link.history import History
from tinyude.link.messages import Array

FORMAT = "tinyude-board-model"
NumbersOf = Callable[[bytes, History], tuple[Array, int]]  # a file's bytes, for this board: numbers and fingerprint


def model_json(history: History, numbers: Array) -> dict[str, Any]:
    """What a board has learned: the numbers from which it continues, and its equations as text."""
    assert history.hello is not None
    return {
        "format": FORMAT,
        "version": 1,
        "board": history.board,
        "fingerprint": history.hello.fingerprint,
        "states": history.states,
        "inputs": history.inputs,
        "terms": [term for term in history.equation() if math.isfinite(term["value"]) and math.isfinite(term["half"])],
        "numbers": [float(f"{value:.9g}") for value in numbers],
    }


def read_model_json(data: bytes) -> tuple[Array, int]:
    """The numbers and fingerprint of such a file.

    Raises
    ------
    TinyUDEError
        When it is none.
    """
    try:
        document = json.loads(data)
        with np.errstate(over="ignore"):  # an infinite number is rejected below
            numbers, fingerprint = np.asarray(document["numbers"], np.float32), int(document["fingerprint"])
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise TinyUDEError("This is not a model of a board; give a .tinyude file or a model sent by a board.") from None
    if document.get("format") != FORMAT or numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise TinyUDEError("This is not a model of a board; give a .tinyude file or a model sent by a board.")
    return numbers, fingerprint
