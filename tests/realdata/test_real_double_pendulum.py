"""A measured chaotic double pendulum, angles only, against its authors' model with friction."""

import numpy as np
import pytest

import tinyude as tu


@pytest.mark.parametrize(("share", "hidden"), [(0.0, (16, 16)), (0.05, ())])  # noise leaves the linear part only
def test_real_double_pendulum_beats_its_authors_model(share: float, hidden: tuple[int, ...], folder, example) -> None:
    record = tu.datasets.multiarm_double(folder)
    found = example("real_double_pendulum").errors(record, share, seed=0, updates=2500, hidden=hidden)
    learned, white_box = np.split(found, 2)
    assert np.all(learned < white_box) and 0.02 < white_box.mean() < 0.03
    assert share > 0.0 or learned.mean() <= 0.015
