"""Match what a flavor demands of its host with what the host reports of itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from objects import extra_spec_operators, host_attributes
from objects.extra_spec_operators import Question
from objects.flavor import Flavor
from objects.host_attributes import Kind, Rollup
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.host_state import READABLE, HostState
from scheduler.host_table import HostTable

_SCOPE = "capabilities"
_ADDRESS_BITS = "hw:maxphysaddr_bits"

_Demand = tuple[str, list[str], bool, Question]
"""The key as written, the path to the value, whether it is scoped, the question to the value."""


class ComputeCapabilitiesFilter(filters.BaseHostFilter):
    """Pass hosts whose attributes meet the flavor's extra specs.

    ``capabilities:NAME`` demands something of the host attribute, or else the entry of its
    ``stats``, of that name; ``capabilities:cpu_info:features`` goes a level deeper with every
    colon. The value is an operator with operands (``>= 4``, ``<in> avx``, ``<or> a <or> b``), or
    else the text that the attribute must equal. A host that does not report the attribute fails. A
    key without a scope means the same, but is ignored where a host has no such attribute; keys with
    another scope are ignored. ``hw:maxphysaddr_bits=N`` stands for
    ``capabilities:cpu_info:maxphysaddr:bits`` ``>= N``.

    A value that cannot be read (an operand that is no number, an attribute that is no dictionary
    where the key goes deeper) fails the host, never the request.
    """

    host_attributes = ("stats",)

    run_filter_once_per_request = True

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return all(_is_met(demand, host_state) for demand in _demands(spec.flavor))

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
                return f"{key}: no host there meets it; they have {there}"
        return None


_NAMED_IN_ZONES = {
    each.name
    for each in host_attributes.HOST_ATTRIBUTES
    if each.rollup is Rollup.UNION and each.kind is Kind.TEXT
}
"""The attributes whose single values a zone tells."""


def _demands(flavor: Flavor) -> Iterator[_Demand]:
    for key, requirement in sorted(flavor.extra_specs.items()):
        scope, *rest = key.split(":")
        if key == _ADDRESS_BITS:
            path = ["cpu_info", "maxphysaddr", "bits"]
            yield key, path, True, extra_spec_operators.parse(f">= {requirement}")
        elif not rest:
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
    """Return the attribute, else the entry of the statistics; None when neither is there."""
    if attribute is not None:
        return attribute
    return stats.get(name) if isinstance(stats, dict) else None


def _walk(value: Any, path: list[str]) -> Any:
    """Return what is found at a path, reading texts on the way as JSON; None for nothing."""
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
