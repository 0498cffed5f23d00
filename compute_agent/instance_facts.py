"""What schedulers want to know of the instances on a host, drawn from each of them once."""

from __future__ import annotations

import collections
from collections.abc import Iterable

from objects.image_meta import ImageMeta

PAIR_CHARS_MAX = 255
"""A longer property is a payload, not a quality that images share."""
PAIRS_PER_HOST_MAX = 500
NOT_SHARED = frozenset({"process_command", "process_environment"})
"""What a workload runs is its owner's business: it may hold secrets, and is not sent about."""


def image_pairs(image: ImageMeta | None) -> list[str]:
    """Return an image's properties as "name=value", ordered, without the payload."""
    properties = image.properties if image is not None else {}
    pairs = (f"{name}={value}" for name, value in properties.items() if name not in NOT_SHARED)
    return sorted(pair for pair in pairs if len(pair) <= PAIR_CHARS_MAX)


def most_frequent(pairs: Iterable[str]) -> dict[str, int]:
    """Return pair -> how many instances have it, of the pairs that most have."""
    counts = collections.Counter(pairs)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:PAIRS_PER_HOST_MAX])
