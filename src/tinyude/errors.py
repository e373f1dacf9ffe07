"""The one family of errors a user meets: each says the value, the limit and the remedy."""

from __future__ import annotations


class TinyUDEError(ValueError):
    """Base of every error raised on purpose by this package."""


class TinyUDEWarning(UserWarning):
    """Base of every warning issued by this package."""
