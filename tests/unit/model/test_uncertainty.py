import numpy as np

from tinyude.model.uncertainty import BLOCKS, _jackknife


def test_jackknife_is_the_least_squares_without_each_group_less_their_mean() -> None:
    """Stretches of the record go to the groups one after the other; columns may be of very different sizes."""
    rng, groups, stretch = np.random.default_rng(0), 4, 5
    group = np.arange(BLOCKS * groups * stretch) // stretch % groups
    design = rng.standard_normal((len(group), 2, 3)) * [1.0, 1e3, 1e-2]
    target = design @ [2.0, 3e-3, 5.0] + 0.1 * rng.standard_normal((len(group), 2))
    rows = [(design[group != g].reshape(-1, 3), target[group != g].ravel()) for g in range(groups)]
    left_out = np.array([np.linalg.lstsq(a, b, rcond=None)[0] for a, b in rows])
    found = _jackknife(design, target, groups, free=np.zeros(3, bool))
    np.testing.assert_allclose(found, left_out - left_out.mean(axis=0), rtol=1e-6, atol=1e-12)
