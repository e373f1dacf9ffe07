"""A stream without some parts of its runs, for a fit that must not see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import Piece
from tinyude.data.streams import Source, Stream, make_stream

Array = NDArray[Any]


class Span(NamedTuple):
    """A part of a run: its number, and its first and last time."""

    run: int
    first: float
    last: float


def without(stream: Stream, inputs: Sequence[str], spans: Sequence[Span]) -> Stream:
    """The stream without the rows in these spans; what remains of a run becomes runs of their own."""
    sources: list[Source] = []
    for number, source in enumerate(stream.sources):
        own = [span for span in spans if span.run == number]
        sources.extend(_remaining(source, own) if own else [source])
    return make_stream(sources, stream.names, inputs)


def _remaining(source: Source, spans: Sequence[Span]) -> list[Source]:
    pieces = list(source.pieces())
    samples, inputs = (np.concatenate([getattr(p, name) for p in pieces]) for name in ("samples", "inputs"))
    stamps = None if source.stamps is None else np.concatenate([p.stamps for p in pieces if p.stamps is not None])
    times = source.period * np.arange(len(samples)) if stamps is None else stamps
    kept = ~np.any([(times >= span.first) & (times <= span.last) for span in spans], axis=0)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], kept, [False]]).astype(np.int8)))
    made = []
    for rows in (slice(a, b) for a, b in zip(ends[::2], ends[1::2], strict=True)):
        piece = Piece(samples[rows], inputs[rows], None if stamps is None else stamps[rows])
        of_part = None if stamps is None else partial(iter, [stamps[rows]])
        made.append(replace(source, pieces=partial(iter, [piece]), stamps=of_part, in_memory=True))
    return made
