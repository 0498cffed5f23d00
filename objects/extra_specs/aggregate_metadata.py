"""Aggregate metadata keys that the scheduler interprets, with their validation.

The API rejects invalid values, except for those that have to be numbers: filters and weighers use
the configured value in their place, and the log warns of them.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping

from objects.extra_specs import extra_specs

ROUTED_NETWORK = "routed_network"
MULTIPLIER_SUFFIX = "_weight_multiplier"
RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")
COUNTS = ("max_instances_per_host", "max_io_ops_per_host")
TRAIT_PREFIX = "trait:"
NUMBER_MAX = 1e100
"""Numbers have to be within this and its negative, so that weights add up to a finite number."""


def mistakes(metadata: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield each key with an invalid value, and the reason, without a full stop.

    None, which removes a key, is valid.
    """
    for key, text in sorted(metadata.items()):
        rule = None if text is None else _mistake(key, text)
        if rule is not None:
            yield key, rule


def invalid_numbers(metadata: Mapping[str, str]) -> list[str]:
    """Return the keys whose value is not the number that it has to be."""
    return [key for key, text in sorted(metadata.items()) if not _is_number(text, _parser_of(key))]


def _parser_of(key: str) -> Callable[[str], float] | None:
    """Return what reads the value of a key as a number; None if it may be any text."""
    if key in COUNTS:
        return int
    return float if key in RATIOS or key.endswith(MULTIPLIER_SUFFIX) else None


def _is_number(text: str, parser: Callable[[str], float] | None) -> bool:
    try:
        return parser is None or abs(parser(text)) < NUMBER_MAX
    except ValueError:
        return False


def _mistake(key: str, text: str) -> str | None:
    if key == ROUTED_NETWORK:
        return None if all(map(_is_uuid, text.split(","))) else "It must list UUIDs of networks"
    if key.startswith(TRAIT_PREFIX):
        return extra_specs.mistake(key, text)
    return None


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text.strip())) == text.strip().lower()
    except ValueError:
        return False
