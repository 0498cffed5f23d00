"""Why hosts were removed: reasons grouped and counted, of all hosts or of so many as is cheap."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from scheduler.host_state import HostState
from scheduler.host_table import HostTable
from scheduler.usage import Positions

Reasons = list[tuple[str, int]]
"""Reasons and on how many hosts each was found, the most frequent first. The counts add up to the
removed hosts when the reason of every one is known; otherwise each count is the least that it may
be. Empty when nothing is said."""

EXPLAINED_MAX = 100

_KEPT_MAX = 5
_LENGTH_MAX = 200
_OTHERS = "other reasons"
_NOTHING_SAID = "no reason given"


def grouped(
    explain: Callable[[HostState], str | None],
    hosts: HostTable,
    removed: Positions,
    *,
    columns: Sequence[str] | None,
    explained_max: int = EXPLAINED_MAX,
) -> Reasons:
    """Return why the hosts at the positions ``removed`` are out, asking at most so many times.

    Hosts with equal values in ``columns`` have the same reason, so that one of them is asked;
    without columns (None) each host is, or as many as may be, spread over all.
    """
    found: Counter[str] = Counter()
    for position, count in _asked(hosts, removed, columns, explained_max):
        host = hosts[position]
        found[_without_names(explain(host), host)] += count
    if found.keys() <= {_NOTHING_SAID}:
        return []
    return _bounded(found.most_common())


def _asked(
    hosts: HostTable, removed: Positions, columns: Sequence[str] | None, explained_max: int
) -> Iterable[tuple[int, int]]:
    """Yield positions, and for how many hosts each stands."""
    if explained_max <= 0 or len(removed) == 0:
        return ()
    if columns is None:
        return _spread(removed, explained_max)
    if not columns:
        return ((int(removed[0]), len(removed)),)
    return _one_of_each(hosts, removed, columns, explained_max)


def _spread(removed: Positions, explained_max: int) -> Iterator[tuple[int, int]]:
    step = max(len(removed) / explained_max, 1)
    for index in range(min(len(removed), explained_max)):
        yield int(removed[int(index * step)]), 1


def _one_of_each(
    hosts: HostTable, removed: Positions, columns: Sequence[str], explained_max: int
) -> Iterator[tuple[int, int]]:
    kinds, *others = (np.asarray(hosts.column(name))[removed] for name in columns)
    for other in others:
        _values, known = np.unique(kinds, return_inverse=True)
        values, codes = np.unique(other, return_inverse=True)
        kinds = known * len(values) + codes
    _kinds, first, counts = np.unique(kinds, return_index=True, return_counts=True)
    for index in np.argsort(-counts, kind="stable")[:explained_max].tolist():
        yield int(removed[first[index]]), int(counts[index])


def _without_names(reason: str | None, host: HostState) -> str:
    """Return a reason that is the same for all hosts it holds for, and may be shown to users."""
    if not reason:
        return _NOTHING_SAID
    for name in (host.nodename, host.host):
        if name in reason:
            reason = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", "this host", reason)
    return reason if len(reason) <= _LENGTH_MAX else f"{reason[: _LENGTH_MAX - 1]}…"


def _bounded(found: Reasons) -> Reasons:
    if len(found) <= _KEPT_MAX:
        return found
    rest = sum(count for _reason, count in found[_KEPT_MAX - 1 :])
    return [*found[: _KEPT_MAX - 1], (_OTHERS, rest)]
