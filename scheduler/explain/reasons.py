"""Reasons for removed hosts, grouped and counted, from all hosts or a sample."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from objects.traces.host_sample import evenly_spread
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.usage import Positions

Reasons = list[tuple[str, int]]
"""Reasons with the number of hosts, most frequent first. If every host was explained, the counts
add up to the number of removed hosts; otherwise each count is a lower bound. Empty if there is no
reason."""

Report = Callable[[str, int, int, Reasons, list[str]], None]
"""Receives the name of a filter or rule, the hosts before it, how many it removed, why, and the
names of some of these."""

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
    """Return why hosts were removed, calling ``explain`` at most ``explained_max`` times.

    Hosts with equal values in ``columns`` share a reason, so only one of them is explained. Without
    columns (None), an evenly spread sample of the hosts is explained.
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
    """Yield positions to explain, and the number of hosts that each represents."""
    if explained_max <= 0 or len(removed) == 0:
        return ()
    if columns is None:
        return ((position, 1) for position in evenly_spread(removed, explained_max).tolist())
    if not columns:
        return ((int(removed[0]), len(removed)),)
    return _one_of_each(hosts, removed, columns, explained_max)


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
    """Return the reason without host names, so that it can be grouped and shown to users."""
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
