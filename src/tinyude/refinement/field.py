"""The hybrid field as one program of states, inputs and unknowns, with its derivatives by states and unknowns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.physics.derivatives import Entries, program_with_slopes
from tinyude.physics.programs import Program, program_numpy

Array = NDArray[Any]


@dataclass(frozen=True)
class Field:
    """dx/dt = f(x, u; unknowns).

    Attributes
    ----------
    value : Program
        Its inputs are the states, the inputs u, then the unknowns.
    states, inputs, unknowns : int
        How many of each.
    """

    value: Program
    states: int
    inputs: int
    unknowns: int

    @cached_property
    def _slopes(self) -> tuple[Program, Entries]:
        first = self.states + self.inputs
        return program_with_slopes(self.value, [*range(self.states), *range(first, first + self.unknowns)])

    @property
    def slopes(self) -> Program:
        """dx/dt, then its nonzero derivatives."""
        return self._slopes[0]

    @property
    def entries(self) -> Entries:
        """Row and column of each derivative; columns are the states, then the unknowns."""
        return self._slopes[1]

    @cached_property
    def state_slopes(self) -> tuple[Program, Entries]:
        """The same, with derivatives by the states only."""
        return program_with_slopes(self.value, range(self.states))

    def evaluate(self, x: Array, u: Array, unknowns: Array) -> Array:
        """dx/dt at states (..., states) and inputs (..., inputs)."""
        return program_numpy(self.value, _columns(x, u, unknowns))

    def linearise(self, x: Array, u: Array, unknowns: Array) -> tuple[Array, Array]:
        """dx/dt (..., states) and its derivatives (..., states, states + unknowns)."""
        values = program_numpy(self.slopes, _columns(x, u, unknowns))
        dense = np.zeros((*values.shape[:-1], self.states, self.states + self.unknowns), values.dtype)
        for place, (row, column) in enumerate(self.entries):
            dense[..., row, column] = values[..., self.states + place]
        return values[..., : self.states], dense


def _columns(x: Array, u: Array, unknowns: Array) -> Array:
    lead = x.shape[:-1]
    parts: Sequence[Array] = [np.broadcast_to(part, (*lead, part.shape[-1])) for part in (x, u, unknowns)]
    return np.concatenate(parts, axis=-1)
