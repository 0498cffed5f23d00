"""What hosts get from the metadata of their aggregates: words, and numbers instead of options."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable

import numpy as np

from objects.aggregate import Aggregate
from scheduler.host_table import HostTable, Numbers

LOG = logging.getLogger(__name__)

_WARNED_MAX = 1000


def words(aggregates: Iterable[Aggregate], key: str) -> set[str]:
    """Return the values of a key over a host's aggregates, each split at commas."""
    return {
        word.strip()
        for aggregate in aggregates
        if key in aggregate.metadata
        for word in aggregate.metadata[key].split(",")
    }


class NumberOverride:
    """A number that aggregates may override for their hosts under a key; the least counts.

    A value that is no number is said once in the log, and its hosts have the default.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._warned: set[tuple[str, str]] = set()

    def column(self, hosts: HostTable, default: float) -> Numbers:
        """Return the number of each host."""
        least = np.full(len(hosts), math.inf)
        is_bad = np.zeros(len(hosts), dtype=np.bool_)
        for aggregate in hosts.facts.aggregates_with(self._key):
            inside = hosts.in_aggregate(aggregate)
            number = self._number(aggregate)
            if number is None:
                is_bad |= inside
            else:
                least[inside] = np.minimum(least[inside], number)
        return np.where(is_bad | np.isinf(least), default, least)

    def _number(self, aggregate: Aggregate) -> float | None:
        text = aggregate.metadata[self._key]
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if math.isfinite(number):
            return number
        if (aggregate.uuid, text) not in self._warned and len(self._warned) < _WARNED_MAX:
            self._warned.add((aggregate.uuid, text))
            LOG.warning(
                "Aggregate %s: metadata %s = %r is no number; its hosts have the configured value",
                aggregate.name, self._key, text,
            )  # fmt: skip
        return None
