"""Options that several commands have."""

import pytest

from tinyude.cli.options import listed_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        (None, None),
        ("", []),
        ("omega, tanh(20*omega)", ["omega", "tanh(20*omega)"]),
        ("omega; tanh(20*omega);", ["omega", "tanh(20*omega)"]),
        ("max(x - 0.1, 0), sin((x + y)*2)", ["max(x - 0.1, 0)", "sin((x + y)*2)"]),
    ],
)
def test_listed_terms_are_those_between_commas_or_semicolons_outside_brackets(
    text: str | None, terms: list[str] | None
) -> None:
    assert listed_terms(text) == terms
