"""Argument types shared by commands: pairs, counts, sizes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def pair(text: str) -> tuple[str, str]:
    """Parse ``KEY=VALUE``; the value may be empty or contain further equals signs."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise argparse.ArgumentTypeError(f"'{text}' is not of the form KEY=VALUE")
    return key, value


def positive(text: str) -> int:
    """Parse an integer of at least 1."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    """Parse an integer of at least 0."""
    return _at_least(text, 0)


def limit(text: str) -> int:
    """Parse an integer of at least -1, which means unlimited."""
    return _at_least(text, -1)


def seconds(text: str) -> float:
    """Parse a number of seconds greater than 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds greater than 0")
    return value


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Return pairs as a mapping; a repeated key has a list of values."""
    result: dict[str, str | list[str]] = {}
    for key, value in pairs:
        present = result.get(key)
        if present is None:
            result[key] = value
        elif isinstance(present, list):
            present.append(value)
        else:
            result[key] = [present, value]
    return result


def _at_least(text: str, lowest: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is not an integer") from None
    if value < lowest:
        raise argparse.ArgumentTypeError(f"{value} is less than {lowest}")
    return value


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Add the option for scheduler hints."""
    parser.add_argument(
        "--hint",
        metavar="KEY=VALUE",
        dest="hints",
        action="append",
        default=[],
        type=pair,
        help="scheduler hint, such as group=GROUP; may be repeated",
    )
