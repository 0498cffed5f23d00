"""Signed texts: only what was sealed with the same key, for the same purpose, is opened."""

import pytest

from armillary.keys import signed_text

KEY, OTHER = b"k" * 32, b"o" * 32


def test_what_was_sealed_is_opened() -> None:
    """With any of the keys."""
    text = signed_text.seal("img1", ["a", 1, None], KEY)
    assert signed_text.open_sealed("img1", text, [OTHER, KEY]) == ["a", 1, None]


@pytest.mark.parametrize(
    "text",
    ["", "img1", "img1..", "img1.W10.", "img1.W10.é", signed_text.seal("img1", [], OTHER)],
    ids=["nothing", "a prefix", "empty", "no signature", "letters", "another key"],
)
def test_anything_else_is_not(text: str) -> None:
    assert signed_text.open_sealed("img1", text, [KEY]) is None


def test_a_text_of_another_kind_is_not() -> None:
    """Even if it is given this kind's prefix."""
    text = signed_text.seal("arm1", [], KEY)
    assert signed_text.open_sealed("img1", text, [KEY]) is None
    assert signed_text.open_sealed("img1", text.replace("arm1", "img1"), [KEY]) is None
