"""How to make a learner smaller, if it does not fit or contains parts that it does not use."""

from __future__ import annotations

from tinyude import native
from tinyude.export.boards.chipsets import KILO
from tinyude.export.chip import Chip

STEP = 32  # reservoir entries


def arena_bytes(chip: Chip) -> int:
    return native.memory(chip.config, "float32")["total"]


def network_advice(fitted: Chip, chip: Chip) -> list[str]:
    """A line if the chip would have a network that the fit left out, or lack one that the fit uses.

    fitted: as the model has it, before anything was left out.
    """
    if fitted.start is not None and fitted.start.network_on.any() and not chip.config.hidden:
        return [
            "warning: the fitted model uses its network, which --no-network leaves out: the board starts from less "
            "than the fit found. Fit again with --network kernel or none."
        ]
    if chip.start is None or not chip.config.hidden or chip.start.network_on.any():
        return []
    if not (chip.config.library_terms or chip.config.parameters):
        return []
    saved = arena_bytes(chip) - arena_bytes(chip.without_network())
    return [f"The fit left the network out; --no-network saves {saved:,} bytes of RAM."]


def fitting(chip: Chip, arena_limit: int, ram_bytes: int) -> list[str]:
    """What would fit, the mildest change first; two proposals at most."""
    room = f"fits {ram_bytes / KILO:g} kB"
    found = []
    for options, smaller in _smaller(chip):
        words = " ".join(options)
        entries = smaller.config.reservoir
        if options and arena_bytes(smaller) <= arena_limit:
            found.append(f"{words} {room}")
        elif smaller.config.reservoir > 1 and (fewer := _entries(smaller, arena_limit)):
            found.append(f"{f'{words} and ' if words else ''}reservoir {entries} -> {fewer} {room}")
    if found:
        return found[:2]
    least = min(arena_bytes(smaller.resized(least_entries(smaller))) for _, smaller in _smaller(chip))
    return [f"Nothing fits {ram_bytes / KILO:g} kB: the smallest arena is {least:,} bytes; fit a smaller model."]


def least_entries(chip: Chip) -> int:
    """A minibatch is drawn from at least twice as many."""
    return 2 * chip.config.batch if chip.config.hidden else 1


def _smaller(chip: Chip) -> list[tuple[list[str], Chip]]:
    chips: list[tuple[list[str], Chip]] = [([], chip)]
    if chip.config.hidden and not chip.config.compact:
        chips.append((["--compact"], chip.resized(compact=True)))
    if chip.start is not None and len(chip.terms) > len(chip.with_kept_terms().terms):
        chips += [([*options, "--kept-terms"], smaller.with_kept_terms()) for options, smaller in chips]
    if chip.config.hidden and (chip.config.library_terms or chip.config.parameters):
        chips.append((["--no-network"], chip.without_network()))
    return chips


def _entries(chip: Chip, limit: int) -> int:
    """The most reservoir entries that keep the arena within the limit, in steps; 0 when there are too few."""
    low, high = 0, chip.config.reservoir // STEP
    while low < high:
        middle = (low + high + 1) // 2
        if arena_bytes(chip.resized(STEP * middle)) <= limit:
            low = middle
        else:
            high = middle - 1
    return STEP * low if STEP * low >= least_entries(chip) else 0
