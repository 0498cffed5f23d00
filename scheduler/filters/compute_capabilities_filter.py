"""Filter that matches flavor extra specs against attributes that hosts report.

With it a flavor selects hosts by node attributes (required node affinity).
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from objects.extra_specs import extra_spec_operators
from objects.extra_specs.extra_spec_operators import Predicate
from objects.flavor import Flavor
from objects.hosts import host_attributes
from objects.hosts.host_attributes import Kind, Rollup
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import READABLE, SERVICE, HostState
from scheduler.hosts.host_table import HostTable

_SCOPE = "capabilities"
_ADDRESS_BITS = "hw:maxphysaddr_bits"

_Demand = tuple[str, list[str], bool, Predicate]
"""The key as written, the path to the value, whether it is scoped, the predicate on the value."""


class ComputeCapabilitiesFilter(filters.BaseHostFilter):
    """Pass hosts whose attributes meet the flavor's extra specs.

    ``capabilities:NAME`` sets a requirement on the host attribute of that name, or else on the
    entry of its ``stats``; each further colon goes one level deeper, as in
    ``capabilities:cpu_info:features``; ``capabilities:service`` has ``host``, ``disabled``, ``up``
    and ``version``. The value is an operator with operands (``>= 4``,
    ``<in> avx``, ``<or> a <or> b``), or the exact text. A host that does not report the attribute
    fails. A key without a scope means the same, but is ignored for hosts without such an attribute.
    Keys with another scope are ignored. ``hw:maxphysaddr_bits=N`` is short for
    ``capabilities:cpu_info:maxphysaddr:bits`` ``>= N``.

    A value that cannot be parsed (an operand that is not a number, an attribute that is not a
    dictionary where the key goes deeper) fails the host, never the request.
    """

    host_attributes = ("stats",)

    run_filter_once_per_request = True

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask = np.ones(len(hosts), dtype=np.bool_)
        for demand in _demands(spec.flavor):
            mask &= _mask_of(demand, hosts)
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str | None:
        for demand in _demands(spec.flavor):
            if not _is_met(demand, host_state):
                key, path, _is_scoped, _question = demand
                found = _walk(_first(path[0], host_state.find(path[0]), host_state.stats), path[1:])
                return f"{key} is {'not reported' if found is None else _shortened(found)}"
        return None

    def zone_lacks(self, attributes: Mapping[str, Any], spec: RequestSpec) -> str | None:
        for demand in _demands(spec.flavor):
            key, path, _is_scoped, _question = demand
            values = attributes.get(path[0]) if path[0] in _NAMED_IN_ZONES else None
            if len(path) > 1 or values is None or None in values:
                continue
            if not any(_answer(demand, value, None) for value in values):
                there = _shortened(", ".join(map(str, values))) or "nothing"
                return f"{key}: no host there meets it; reported values: {there}"
        return None


_NAMED_IN_ZONES = {
    each.name
    for each in host_attributes.HOST_ATTRIBUTES
    if each.rollup is Rollup.UNION and each.kind is Kind.TEXT
}
"""Attributes whose individual values a zone reports."""


def _demands(flavor: Flavor) -> Iterator[_Demand]:
    for key, requirement in sorted(flavor.extra_specs.items()):
        scope, *rest = key.split(":")
        if key == _ADDRESS_BITS:
            path = ["cpu_info", "maxphysaddr", "bits"]
            yield key, path, True, extra_spec_operators.parse(f">= {requirement}")
        elif not rest and key != SERVICE:  # a dict cannot equal the text of an extra spec
            yield key, [key], False, extra_spec_operators.parse(requirement)
        elif scope == _SCOPE:
            yield key, rest, True, extra_spec_operators.parse(requirement)


def _is_met(demand: _Demand, host_state: HostState) -> bool:
    _key, path, _is_scoped, _question = demand
    return _answer(demand, host_state.find(path[0]), host_state.stats)


def _mask_of(demand: _Demand, hosts: HostTable) -> filters.Mask:
    _key, path, _is_scoped, _question = demand
    if path[0] in READABLE:
        column = hosts.column(path[0])
        if isinstance(column, np.ndarray):
            return filters.per_distinct(column, lambda value: _answer(demand, value, None))
        if not any(value is None for value in column):
            return filters.per_distinct(column, lambda value: _answer(demand, value, None))
    return np.fromiter((_is_met(demand, host) for host in hosts), np.bool_, len(hosts))


def _answer(demand: _Demand, attribute: Any, stats: Any) -> bool:
    _key, path, is_scoped, question = demand
    first = _first(path[0], attribute, stats)
    if not is_scoped and first is None and path[0] not in READABLE:
        return True
    value = _walk(first, path[1:])
    return value is not None and question(str(value))


def _first(name: str, attribute: Any, stats: Any) -> Any:
    """Return the attribute, else the entry of the statistics; None if neither exists."""
    if attribute is not None:
        return attribute
    return stats.get(name) if isinstance(stats, dict) else None


def _walk(value: Any, path: list[str]) -> Any:
    """Return the value at a path, parsing strings on the way as JSON; None if there is none."""
    for name in path:
        if isinstance(value, str):
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                return None
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
