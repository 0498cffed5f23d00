"""Arguments that several commands take."""

import argparse
from collections.abc import Callable
from typing import Any

import pytest

from programs.commands import arguments


@pytest.mark.parametrize(
    ("text", "value"), [("a=b", ("a", "b")), ("a=", ("a", "")), ("a=b=c", ("a", "b=c"))]
)
def test_a_pair_is_cut_at_its_first_equals_sign(text: str, value: tuple[str, str]) -> None:
    """Values may hold more of them."""
    assert arguments.pair(text) == value


@pytest.mark.parametrize(
    ("take", "text", "value"),
    [
        (arguments.positive, "1", 1),
        (arguments.not_negative, "0", 0),
        (arguments.limit, "-1", -1),
        (arguments.seconds, "0.5", 0.5),
    ],
)
def test_the_lowest_value_is_taken(take: Callable[[str], Any], text: str, value: Any) -> None:
    """Each bound is inside."""
    assert take(text) == value


@pytest.mark.parametrize(
    ("take", "text"),
    [
        (arguments.pair, "a"),
        (arguments.pair, "=b"),
        (arguments.positive, "0"),
        (arguments.positive, "1.5"),
        (arguments.not_negative, "-1"),
        (arguments.limit, "-2"),
        (arguments.seconds, "0"),
        (arguments.seconds, "inf"),
        (arguments.seconds, "nan"),
        (arguments.seconds, "soon"),
    ],
)
def test_what_is_beyond_is_refused(take: Callable[[str], Any], text: str) -> None:
    """argparse shows the sentence."""
    with pytest.raises(argparse.ArgumentTypeError):
        take(text)


def test_a_key_that_comes_again_has_a_list() -> None:
    """As hints with several values."""
    pairs = [("a", "1"), ("b", "2"), ("a", "3"), ("a", "4")]
    assert arguments.grouped(pairs) == {"a": ["1", "3", "4"], "b": "2"}


@pytest.mark.parametrize(
    ("take", "text", "value"),
    [
        (arguments.mebibytes, "4096", 4096),
        (arguments.mebibytes, "4G", 4096),
        (arguments.mebibytes, "1.5 GiB", 1536),
        (arguments.mebibytes, "1024k", 1),
        (arguments.gibibytes, "2T", 2048),
        (arguments.gibibytes, "2048MB", 2),
        (arguments.mebibytes_limit, "-1", -1),
    ],
)
def test_amounts_may_have_units(take: Callable[[str], int], text: str, value: int) -> None:
    """Powers of two, however they are written; a bare number is in the option's unit."""
    assert take(text) == value


@pytest.mark.parametrize("text", ["", "G", "-4G", "4X", "1.5", "1e3", "\u0664G"])
def test_other_amounts_are_refused(text: str) -> None:
    """So are parts of the option's unit."""
    with pytest.raises(argparse.ArgumentTypeError):
        arguments.mebibytes(text)
