"""Filter that evaluates a user's query on hosts."""

import logging
from collections import defaultdict
from typing import Any

import numpy as np

from armillary import exception
from objects.extra_specs import host_query
from objects.extra_specs.host_query import Query
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import READABLE, SERVICE, SERVICE_ATTRIBUTES, HostState
from scheduler.hosts.host_table import HostTable

LOG = logging.getLogger(__name__)


class JsonFilter(filters.BaseHostFilter):
    """Pass hosts that match the query in the hint ``query``; without it, pass all hosts.

    The query is JSON, such as ``["and", [">=", "$free_ram_mb", 1024], ["=", "$stats.rack",
    "7"]]``: an operator followed by its arguments, which are values, host attributes (``$name``,
    ``$name.key``) and nested queries. ``$service`` has ``host``, ``disabled``, ``up`` and
    ``version`` of the host's service.

    - ``=``, ``<``, ``>``, ``<=``, ``>=``: the first argument compared with each of the others
    - ``in``: the first argument is one of the others
    - ``and``, ``or``: all, or any, of the arguments hold
    - ``not``: one of the arguments does not hold, at any depth

    An argument that is null, empty, or not reported by the host is ignored. A comparison between
    incompatible types is false. The API rejects an invalid query; if one arrives another way, no
    host passes. The query is evaluated again for each instance of a request.
    """

    is_host_local = True

    reason_columns = ()

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        question, mistake = _question(spec)
        if mistake is not None:
            return False
        return question is None or question.holds(host_state.find)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        question, mistake = _question(spec)
        if question is None:
            return np.full(len(hosts), mistake is None)
        return _mask(question, hosts)

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        _asked, mistake = _question(spec)
        return mistake or "does not match the query in the hint"


def _question(spec: RequestSpec) -> tuple[Query | None, str | None]:
    """Return the query (None if there is none) and what is wrong with it."""
    text = next(iter(spec.hint(host_query.HINT)), "")
    try:
        return host_query.parse(text), None
    except exception.Invalid as error:
        return None, error.message


def _mask(question: Query, hosts: HostTable) -> filters.Mask:
    """Evaluate once for all hosts with equal values of the queried attributes."""
    if not len(hosts):
        return np.zeros(0, dtype=np.bool_)
    names = question.attributes & READABLE
    if SERVICE in question.attributes:
        names |= set(SERVICE_ATTRIBUTES.values())
    columns = {name: hosts.column(name) for name in names}
    alike: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for position, key in enumerate(zip(*map(_keys, columns.values()), strict=True)):
        alike[key].append(position)
    if not columns:
        alike[()] = list(range(len(hosts)))
    mask = np.zeros(len(hosts), dtype=np.bool_)
    for positions in alike.values():
        mask[positions] = question.holds(hosts[positions[0]].find)
    return mask


def _keys(column: Any) -> list[Any]:
    """Return keys that are equal for equal values: the value itself, or the object's identity."""
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
        return values
    return [value if isinstance(value, str) else id(value) for value in column]
