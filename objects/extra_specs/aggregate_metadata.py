"""Aggregate metadata keys that the scheduler interprets, with their validation.

The API rejects invalid values. For invalid values stored earlier, the scheduler logs a warning once
and uses the configured value.
"""

import math
import uuid
from collections.abc import Iterator, Mapping

from objects.extra_specs import extra_specs

ROUTED_NETWORK = "routed_network"
MULTIPLIER_SUFFIX = "_weight_multiplier"
RATIOS = ("cpu_allocation_ratio", "ram_allocation_ratio", "disk_allocation_ratio")
COUNTS = ("max_instances_per_host", "max_io_ops_per_host")
TRAIT_PREFIX = "trait:"


def mistakes(metadata: Mapping[str, str | None]) -> Iterator[tuple[str, str]]:
    """Yield each key with an invalid value, and the reason, without a full stop.

    None, which removes a key, is valid.
    """
    for key, text in sorted(metadata.items()):
        rule = None if text is None else _mistake(key, text)
        if rule is not None:
            yield key, rule


def _mistake(key: str, text: str) -> str | None:
    if key.endswith(MULTIPLIER_SUFFIX):
        return None if _is_finite(text) else "It must be a number, such as 2.0 or -1"
    if key in RATIOS:
        return None if _is_finite(text) and float(text) > 0 else "It must be a number above 0"
    if key in COUNTS:
        return None if extra_specs.amount(text) is not None else "It must be a whole number from 0"
    if key == ROUTED_NETWORK:
        return None if all(map(_is_uuid, text.split(","))) else "It must list UUIDs of networks"
    if key.startswith(TRAIT_PREFIX):
        return extra_specs.mistake(key, text)
    return None


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_uuid(text: str) -> bool:
    try:
        return str(uuid.UUID(text.strip())) == text.strip().lower()
    except ValueError:
        return False
