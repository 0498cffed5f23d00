"""Summaries of a host's instances for schedulers."""

import collections
from collections.abc import Iterable

from objects.images.image_meta import ImageMeta

PAIR_CHARS_MAX = 255
"""Maximum length of a reported property; longer ones hold data and are not shared by images."""
PAIRS_PER_HOST_MAX = 500
NOT_SHARED = frozenset({"process_command", "process_environment"})
"""Workload properties that are never reported, because they may contain secrets."""


def image_pairs(image: ImageMeta | None) -> list[str]:
    """Return an image's properties as sorted "name=value" strings, without the workload's."""
    properties = image.properties if image is not None else {}
    pairs = (f"{name}={value}" for name, value in properties.items() if name not in NOT_SHARED)
    return sorted(pair for pair in pairs if len(pair) <= PAIR_CHARS_MAX)


def most_frequent(pairs: Iterable[str]) -> dict[str, int]:
    """Return the number of instances by pair, for the most frequent pairs."""
    counts = collections.Counter(pairs)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:PAIRS_PER_HOST_MAX])
