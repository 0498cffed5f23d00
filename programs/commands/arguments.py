"""Argument types and options shared by commands: pairs, counts, times, hints, ``--wait``."""

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from typing import Any

from armillary import times
from programs.http_client import Document

TEXT = "text"
JSON = "json"
WAIT_TIMEOUT_SECONDS = 300.0
KIBI, MEBI, GIBI, TEBI, PEBI = (1024**power for power in range(1, 6))
_UNITS = {"K": KIBI, "M": MEBI, "G": GIBI, "T": TEBI, "P": PEBI}
_NAMES = {MEBI: "MiB", GIBI: "GiB"}
_AMOUNT = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)\s?(?:([KMGTPkmgtp])(?:i?[Bb])?)?", re.ASCII)


def pair(text: str) -> tuple[str, str]:
    """Parse ``KEY=VALUE``; the value may be empty or contain further equals signs."""
    key, sign, value = text.partition("=")
    if not sign or not key:
        raise ArgumentTypeError(f"'{text}' is not of the form KEY=VALUE")
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


def time(text: str) -> datetime:
    """Parse a time; it is in UTC unless it names a time zone."""
    try:
        return times.parse(text)
    except ValueError:
        raise ArgumentTypeError(f"'{text}' is not a time such as 2030-01-31T12:00") from None


def mebibytes(text: str) -> int:
    """Parse an amount of memory: a number of MiB, or with a unit: ``512M``, ``4G``, ``1.5T``."""
    return _amount(text, MEBI)


def gibibytes(text: str) -> int:
    """Parse an amount of disk: a number of GiB, or with a unit: ``500G``, ``2T``."""
    return _amount(text, GIBI)


def mebibytes_limit(text: str) -> int:
    """Parse a limit of memory in MiB, or with a unit; -1 means unlimited."""
    return limit(text) if text.startswith("-") else mebibytes(text)


def _amount(text: str, unit: int) -> int:
    found = _AMOUNT.fullmatch(text)
    if found is None:
        raise ArgumentTypeError(
            f"'{text}' is not an amount such as 4096 or 4G; units: {', '.join(_UNITS)}"
        )
    value = Decimal(found[1]) * (_UNITS[found[2].upper()] if found[2] else unit)
    if value % unit:
        raise ArgumentTypeError(f"'{text}' is not a whole number of {_NAMES[unit]}")
    return int(value // unit)


def seconds(text: str) -> float:
    """Parse a number of seconds greater than 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise ArgumentTypeError(f"'{text}' is not a number of seconds greater than 0")
    return value


def _at_least(text: str, lowest: int) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ArgumentTypeError(f"'{text}' is not an integer") from None
    if value < lowest:
        raise ArgumentTypeError(f"{value} is less than {lowest}")
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


def given(**values: Any) -> Document:
    """Return the values of a request that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def add_pairs(parser: ArgumentParser, option: str, dest: str, what: str) -> None:
    """Add an option with a key and a value."""
    parser.add_argument(
        option,
        metavar="KEY=VALUE",
        dest=dest,
        action="append",
        default=[],
        type=pair,
        help=f"{what}; may be repeated",
    )


def add_list(parser: ArgumentParser, option: str, dest: str, metavar: str, what: str) -> None:
    """Add an option whose values are collected in a list."""
    parser.add_argument(
        option,
        metavar=metavar,
        dest=dest,
        action="append",
        default=[],
        help=f"{what}; may be repeated",
    )


def add_wait(parser: ArgumentParser) -> None:
    parser.add_argument("--wait", action="store_true", help="wait until it is done")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=seconds,
        default=WAIT_TIMEOUT_SECONDS,
        help="timeout of --wait in seconds (default: %(default)g)",
    )


def add_format(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-f",
        "--format",
        choices=(TEXT, JSON),
        default=TEXT,
        help="text, or everything that the API returns (default: %(default)s)",
    )
