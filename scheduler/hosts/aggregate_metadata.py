"""Aggregate metadata of hosts: values by key, and numbers that override options."""

import logging
import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate
from objects.extra_specs.aggregate_metadata import NUMBER_MAX
from scheduler.hosts.host_table import HostTable, Mask, Numbers

LOG = logging.getLogger(__name__)

_WARNED_MAX = 1000
_LABEL_MAX = 2**61


def words(aggregates: Iterable[Aggregate], key: str) -> set[str]:
    """Return the values of a key over a host's aggregates, each split at commas."""
    return {
        word.strip()
        for aggregate in aggregates
        if key in aggregate.metadata
        for word in aggregate.metadata[key].split(",")
    }


def zones(aggregates: Iterable[Aggregate]) -> set[str]:
    """Return the availability zones of a host: the names that its aggregates give.

    A name may have commas; it is taken for a list, too, as other values are.
    """
    key = AVAILABILITY_ZONE_KEY
    named = {each.metadata[key] for each in aggregates if key in each.metadata}
    return {word for name in named for word in (name, *map(str.strip, name.split(",")))}


def per_membership(
    hosts: HostTable,
    aggregates: Iterable[Aggregate],
    question: Callable[[Sequence[Aggregate]], bool],
) -> Mask:
    """Evaluate a predicate on hosts' aggregates, once for all hosts in the same aggregates.

    ``aggregates`` are those that the answer may depend on; the predicate receives no others.
    """
    relevant = list(aggregates)
    labels = np.zeros(len(hosts), dtype=np.int64)
    for aggregate in relevant:
        if len(labels) and labels.max() > _LABEL_MAX:
            labels = np.unique(labels, return_inverse=True)[1]
        labels = labels * 2 + hosts.in_aggregate(aggregate)
    _labels, firsts, where = np.unique(labels, return_index=True, return_inverse=True)
    known = {aggregate.uuid for aggregate in relevant}
    answers = [
        question([each for each in hosts.aggregates_at(position) if each.uuid in known])
        for position in firsts.tolist()
    ]
    mask: Mask = np.array(answers, dtype=np.bool_)[where]
    return mask


class NumberOverride:
    """A number that aggregate metadata may override for its hosts; the lowest value applies.

    A value that is not a number, not an integer where one is required, or out of all proportion, is
    logged once, and its hosts get the default.
    """

    def __init__(self, key: str, *, whole: bool = False) -> None:
        self._key = key
        self._parse: Callable[[str], float] = int if whole else float
        self._warned: set[tuple[str, str]] = set()

    def column(self, hosts: HostTable, default: float | Numbers) -> Numbers:
        """Return the number of each host; ``default`` is a scalar or one value per host."""
        if not hosts.cluster_metadata.aggregates_with(self._key):
            return np.full(len(hosts), default, dtype=np.float64)
        least = np.full(len(hosts), math.inf)
        is_bad = np.zeros(len(hosts), dtype=np.bool_)
        for aggregate in hosts.cluster_metadata.aggregates_with(self._key):
            inside = hosts.in_aggregate(aggregate)
            number = self._number(aggregate)
            if number is None:
                is_bad |= inside
            else:
                least[inside] = np.minimum(least[inside], number)
        return np.where(is_bad | np.isinf(least), default, least)

    def of(self, aggregates: Iterable[Aggregate], default: float) -> float:
        """Return the number for a host in these aggregates."""
        numbers = [self._number(each) for each in aggregates if self._key in each.metadata]
        found = [number for number in numbers if number is not None]
        return min(found) if found and len(found) == len(numbers) else default

    def _number(self, aggregate: Aggregate) -> float | None:
        text = aggregate.metadata[self._key]
        try:
            number = self._parse(text)
        except ValueError:
            number = math.nan
        if abs(number) < NUMBER_MAX:
            return number
        if (aggregate.uuid, text) not in self._warned and len(self._warned) < _WARNED_MAX:
            self._warned.add((aggregate.uuid, text))
            LOG.warning(
                "Aggregate %s: metadata %s = %r is not a usable number; hosts use the configured "
                "value",
                aggregate.name, self._key, text,
            )  # fmt: skip
        return None
