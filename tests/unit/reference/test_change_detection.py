import numpy as np
import pytest

from tinyude.reference.network.reservoir import reservoir_init, reservoir_offer, reservoir_settle
from tinyude.reference.numeric.rng import rng_seed
from tinyude.reference.regression.change_detection import (
    ALARM_BLOCKS,
    LEAST_PARTS,
    STEADY,
    TRIAL_BLOCKS,
    Change,
    change_add,
    change_clear,
    change_compare,
    change_end_block,
    change_end_part,
    change_init,
    change_nearest,
)
from tinyude.reference.regression.library import Library, library_add, library_end_block, library_init, library_solve

GROUPS, BLOCK, THRESHOLD = 16, 50, 4.5
Model = tuple[Library, Change]


def fill(
    model: Model,
    weights: np.ndarray,
    noise: float,
    rng: np.random.Generator,
    blocks: int = 64,
    overlap: int = 1,
    past: np.ndarray | None = None,
) -> list[bool]:
    """Blocks of windows with random design rows; `overlap` repeats each error, as overlapping windows do.

    past: weights of the windows that a trial finds in store; None: it finds none like these.
    """
    library, change = model
    alarms = []
    for _ in range(blocks):
        errors = np.repeat(noise * rng.standard_normal(BLOCK // overlap), overlap)
        for number, error in enumerate(errors, 1):
            design = rng.standard_normal((1, len(weights)))
            target = design @ weights + error
            if change.trial:
                difference = None if past is None else target - design @ past - noise * rng.standard_normal(1)
                change_compare(change, design, target, difference)
            change_add(change, library, design, target)
            library_add(library, design, target)
            if number % (BLOCK // 4) == 0:
                change_end_part(change)
        library_end_block(library)
        alarms.append(change_end_block(change, library.solved))
    return alarms


def test_change_end_block_stays_quiet_on_stationary_data() -> None:
    alarms = 0
    for seed in range(8):
        model = library_init(GROUPS, 3), change_init(3)
        rng = np.random.default_rng(seed)
        fill(model, np.array([-0.4, 0.0, 0.0]), 0.3, rng, blocks=16)
        library_solve(model[0], 0, THRESHOLD)
        alarms += sum(fill(model, np.array([-0.4, 0.0, 0.0]), 0.3, rng, blocks=60, overlap=5))
    assert alarms == 0


def test_change_end_block_raises_the_alarm_when_a_coefficient_changes() -> None:
    rng = np.random.default_rng(0)
    model = library_init(GROUPS, 3), change_init(3)
    before, after = np.array([-0.4, 0.0, 0.0]), np.array([-0.8, 0.0, 0.0])
    fill(model, before, 0.05, rng, blocks=16)
    library_solve(model[0], 0, THRESHOLD)
    assert not any(fill(model, before, 0.05, rng, blocks=2 * ALARM_BLOCKS))
    assert sum(fill(model, after, 0.05, rng, blocks=2 + TRIAL_BLOCKS, past=before)) == 1


def test_change_end_block_does_not_take_a_stretch_of_noise_for_a_change() -> None:
    """Far more noise than usual, the same for as long as windows overlap: the parts of the trial do not agree."""
    changes = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        model = library_init(GROUPS, 1), change_init(1)
        same = np.array([-0.4])
        fill(model, same, 0.05, rng, blocks=16)
        library_solve(model[0], 0, THRESHOLD)
        fill(model, same, 0.05, rng, blocks=2 * ALARM_BLOCKS)
        changes += sum(fill(model, same, 2.0, rng, blocks=40, overlap=BLOCK // 8, past=same))
    assert changes == 0


@pytest.mark.parametrize("past", [None, np.array([-0.8, 0.0, 0.0])])
def test_change_end_block_does_not_take_a_new_region_for_a_change(past: np.ndarray | None) -> None:
    """The library is contradicted, but the past is not: there is none, or it says the same."""
    rng = np.random.default_rng(0)
    model = library_init(GROUPS, 3), change_init(3)
    before, elsewhere = np.array([-0.4, 0.0, 0.0]), np.array([-0.8, 0.0, 0.0])
    fill(model, before, 0.05, rng, blocks=16)
    library_solve(model[0], 0, THRESHOLD)
    fill(model, before, 0.05, rng, blocks=2 * ALARM_BLOCKS)
    assert not any(fill(model, elsewhere, 0.05, rng, blocks=4 * TRIAL_BLOCKS, past=past))
    assert model[1].compared > 0


def test_change_end_block_takes_one_odd_block_for_an_accident() -> None:
    rng = np.random.default_rng(0)
    model = library_init(GROUPS, 1), change_init(1)
    fill(model, np.array([-0.4]), 0.1, rng, blocks=16)
    library_solve(model[0], 0, THRESHOLD)
    fill(model, np.array([-0.4]), 0.1, rng, blocks=16)
    assert not any(fill(model, np.array([3.0]), 0.1, rng, blocks=1))
    assert not any(fill(model, np.array([-0.4]), 0.1, rng, blocks=10))


def trial_ends(scores: np.ndarray, energies: np.ndarray) -> bool:
    """Whether a trial of these parts, all of them at states that were seen before, ends with a change."""
    change = change_init(1)
    change.trial = change.matched = change.compared = 1
    for score, energy in zip(scores, energies, strict=True):
        change.score[:], change.part[:] = score, energy
        change_end_part(change)
    return change_end_block(change, solved=True)


def test_change_end_block_wants_parts_that_agree_within_a_fifth() -> None:
    """The sum of the scores against STEADY times the scatter of the parts around one change for all."""
    energies = np.full(12, 2.0)
    apart = np.tile([1.0, -1.0], 6) / np.sqrt(12.0)  # its squares add up to 1
    limit = energies.sum() / STEADY
    assert trial_ends(energies + 0.99 * limit * apart, energies)
    assert not trial_ends(energies + 1.01 * limit * apart, energies)


def test_change_end_block_wants_enough_parts() -> None:
    few = int(LEAST_PARTS)
    assert not trial_ends(np.ones(few), np.ones(few)) and trial_ends(np.ones(few + 1), np.ones(few + 1))


def test_change_clear_forgets_what_was_usual() -> None:
    model = library_init(GROUPS, 1), change_init(1)
    rng = np.random.default_rng(0)
    fill(model, np.array([-0.4]), 0.1, rng, blocks=16)
    library_solve(model[0], 0, THRESHOLD)
    fill(model, np.array([-0.4]), 0.1, rng, blocks=4)
    assert model[1].scored == 4 and model[1].usual.any()
    change_clear(model[1])
    assert model[1].scored == 0 and not model[1].usual.any()


def test_change_nearest_finds_the_nearest_entry_or_none() -> None:
    store = reservoir_init(8, 3)
    rng = rng_seed(0)
    for entry in ([9.0, 0.0, 0.0], [9.0, 0.1, 0.0], [9.0, 5.0, 5.0]):
        reservoir_offer(store, np.array(entry), rng)
    reservoir_settle(store)
    reservoir_offer(store, np.array([9.0, 0.08, 0.01]), rng)  # in the block under suspicion
    assert change_nearest(store, np.array([1.0, 0.08, 0.01]), [1, 2]) == 1
    assert change_nearest(store, np.array([1.0, 2.0, 2.0]), [1, 2]) == 4
    assert change_nearest(store, np.array([1.0, 0.08, 0.01]), [0, 1, 2]) == 4  # where all count, none is near


@pytest.mark.parametrize(
    ("scores", "starts"), [((4.1, 4.1), True), ((-4.1, -4.1), True), ((4.1, 3.9), False), ((4.1, -4.1), False)]
)
def test_change_end_block_starts_a_trial_after_two_blocks_above_four_times_the_usual(
    scores: tuple[float, float], starts: bool
) -> None:
    change = change_init(1)
    change.usual[:], change.scored = 1.0, ALARM_BLOCKS
    for score in scores:
        change.score[:] = score
        assert not change_end_block(change, solved=True)
    assert (change.trial == TRIAL_BLOCKS) is starts


@pytest.mark.parametrize(("share", "changed"), [(0.0051, True), (0.0049, False)])
def test_change_end_block_asks_a_change_to_explain_half_a_percent_of_the_target(share: float, changed: bool) -> None:
    """24 parts whose scores and squared columns are 1 each: the change explains 24^2 / 24 of the squared target."""
    change = change_init(1)
    change.usual[:], change.trial, change.matched, change.compared = 0.1, 1, 10, 10
    change.last[:] = change.energy[:] = 24.0
    change.moments[:] = 24.0
    change.matched_target = 24.0 / share
    assert change_end_block(change, solved=True) is changed
