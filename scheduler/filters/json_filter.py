"""Let users ask hosts a question of their own."""

from __future__ import annotations

import logging
from collections import defaultdict
from typing import Any

import numpy as np

from armillary import exception
from objects import host_query
from objects.host_query import Question
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.host_state import READABLE, HostState
from scheduler.host_table import HostTable

LOG = logging.getLogger(__name__)


class JsonFilter(filters.BaseHostFilter):
    """Pass hosts for which the question in the hint ``query`` holds; without it, all.

    The question is JSON, such as ``["and", [">=", "$free_ram_mb", 1024], ["=", "$stats.rack",
    "7"]]``: an operator, then its arguments, which are values, host attributes (``$name``,
    ``$name.key``) and further questions.

    - ``=``, ``<``, ``>``, ``<=``, ``>=``: the first argument compared with each of the others
    - ``in``: the first argument is one of the others
    - ``and``, ``or``: all, or any, of the arguments hold
    - ``not``: one of the arguments does not hold, at any depth

    An argument that is null, empty, or not reported by the host is left out; what cannot be
    compared does not hold. A question that cannot be read is refused by the API; no host passes one
    that comes another way. It is asked again for each instance of a request.
    """

    judges_apart = True

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
        return mistake or "the question in the hint does not hold"


def _question(spec: RequestSpec) -> tuple[Question | None, str | None]:
    """Return the question (None: there is none) and what is wrong with it."""
    text = next(iter(spec.hint(host_query.HINT)), "")
    try:
        return host_query.parse(text), None
    except exception.Invalid as error:
        return None, error.message


def _mask(question: Question, hosts: HostTable) -> filters.Mask:
    """Ask once for hosts that are equal in all that is asked about."""
    if not len(hosts):
        return np.zeros(0, dtype=np.bool_)
    columns = {name: hosts.column(name) for name in question.attributes & READABLE}
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
    """Return what makes equal values equal: themselves, or which object they are."""
    if isinstance(column, np.ndarray):
        values: list[Any] = column.tolist()
        return values
    return [value if isinstance(value, str) else id(value) for value in column]
