"""Shares, times and factors as findings tell them."""

from __future__ import annotations

MOST_TOLD = 100.0  # shares above it are not told to the digit


def percent(share: float) -> str:
    if share > MOST_TOLD:
        return f"over {100.0 * MOST_TOLD:,.0f} %"
    return f"{100.0 * share:.2g} %" if share < 0.995 else f"{100.0 * share:.0f} %"


def seconds(value: float) -> str:
    if value >= 1000.0:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def times(factor: float) -> str:
    """How many times, without an exponent."""
    return f"{factor:.2g}" if factor < 99.5 else f"{factor:,.0f}"
