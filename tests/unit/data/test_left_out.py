"""A fit that must not see a part of a record gets what remains as runs of their own."""

import numpy as np
import pytest

from tinyude.data.left_out import Span, without
from tinyude.data.streams import as_stream


@pytest.mark.parametrize("stamped", [False, True])
def test_without_leaves_the_other_rows_as_they_are(stamped: bool) -> None:
    times = 0.1 * np.arange(200)
    samples, inputs = np.column_stack([np.sin(times)]), np.cos(times)[:, None]
    runs = [samples, 2.0 * samples]
    t = [times + 5.0, times + 5.0] if stamped else [0.1, 0.1]
    stream = as_stream(runs, t, [inputs, inputs], ["x"], ["u"])
    begin = 5.0 if stamped else 0.0
    cut = without(stream, ["u"], [Span(1, begin + 4.95, begin + 9.95)])
    parts = [(run.samples, run.inputs) for run in cut.runs]
    expected = [(samples, inputs), (2.0 * samples[:50], inputs[:50]), (2.0 * samples[100:], inputs[100:])]
    assert len(parts) == len(expected) and cut.count == 350
    for own, other in zip(parts, expected, strict=True):
        assert np.array_equal(own[0], other[0]) and np.array_equal(own[1], other[1])
    assert stream.count == 400  # the stream itself is untouched


def test_without_reads_the_remaining_runs_again() -> None:
    """A learner goes through its stream more than once."""
    samples = np.sin(0.1 * np.arange(100))[:, None]
    cut = without(as_stream(samples, 0.1, None, ["x"], []), [], [Span(0, 0.0, 2.95)])
    for _ in range(2):
        (source,) = cut.sources
        assert sum(len(piece.samples) for piece in source.pieces()) == 70
