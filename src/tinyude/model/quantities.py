"""Shares, times and factors as text, for findings, pages and commands."""

from __future__ import annotations

MOST_TOLD = 100.0  # share above which the text says "over 10,000 %"


def percent(share: float) -> str:
    """A percentage with two digits, never as 1e+02."""
    if share > MOST_TOLD:
        return f"over {100.0 * MOST_TOLD:,.0f} %"
    return f"{100.0 * share:.2g} %" if abs(share) < 0.995 else f"{100.0 * share:.0f} %"


def seconds(value: float) -> str:
    if value >= 1000.0:
        return f"{value:,.0f} s"
    return f"{value:.3g} s" if value >= 0.1 else f"{1e3 * value:.3g} ms"


def times(factor: float) -> str:
    """A factor as text, without an exponent."""
    return f"{factor:.2g}" if factor < 99.5 else f"{factor:,.0f}"
