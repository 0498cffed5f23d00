"""Arguments that several commands take: pairs, counts, sizes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable


def pair(text: str) -> tuple[str, str]:
    """Take ``KEY=VALUE``; the value may be empty or hold further equals signs."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise argparse.ArgumentTypeError(f"'{text}' has not the form KEY=VALUE")
    return key, value


def positive(text: str) -> int:
    """Take a whole number from 1."""
    return _at_least(text, 1)


def not_negative(text: str) -> int:
    """Take a whole number from 0."""
    return _at_least(text, 0)


def limit(text: str) -> int:
    """Take a whole number from -1, which means no limit."""
    return _at_least(text, -1)


def seconds(text: str) -> float:
    """Take a number of seconds above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return value


def grouped(pairs: Iterable[tuple[str, str]]) -> dict[str, str | list[str]]:
    """Return pairs as a mapping in which a key that comes several times has a list."""
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
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number") from None
    if value < lowest:
        raise argparse.ArgumentTypeError(f"{value} is less than {lowest}")
    return value


def add_hints(parser: argparse.ArgumentParser) -> None:
    """Let a command take hints for the scheduler."""
    parser.add_argument(
        "--hint",
        metavar="KEY=VALUE",
        dest="hints",
        action="append",
        default=[],
        type=pair,
        help="hint for the scheduler, such as group=GROUP; may be repeated",
    )
