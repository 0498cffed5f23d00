"""Shapes of the lists and dicts among the attributes of hosts, checked before anything reads them.

A scheduler looks at all hosts in one step: a value of another shape from one host would fail the
decisions about all of them. What is in a NUMA topology is checked by who parses it.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from objects.hosts.host_attributes import HostAttribute, Kind

ITEMS_MAX = 10_000
"""Maximum number of items of one list or dict."""
NUMBER_MAX = 2**53
_INT_MAX = 2**63


def fits(attribute: HostAttribute, value: Any) -> bool:
    """Return whether a value is one of an attribute's kind and shape."""
    is_int = type(value) is int and abs(value) < _INT_MAX
    if attribute.kind is Kind.INT:
        return is_int
    if attribute.kind is Kind.FLOAT:
        return is_int or (isinstance(value, float) and math.isfinite(value))
    if attribute.kind is Kind.BOOL:
        return isinstance(value, bool)
    if attribute.kind is Kind.TEXT:
        return isinstance(value, str)
    return is_well_formed(attribute.name, value)


def is_well_formed(name: str, value: Any) -> bool:
    """Return whether a value has the shape of this attribute; one without a shape here has any."""
    check = _SHAPES.get(name)
    return value is None or check is None or check(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) <= ITEMS_MAX


def _is_dict(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) <= ITEMS_MAX


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= NUMBER_MAX


def _are_texts(value: Any) -> bool:
    return _is_list(value) and all(isinstance(each, str) for each in value)


def _are_lists_of_texts(value: Any) -> bool:
    return _is_list(value) and all(map(_are_texts, value))


def _are_dicts(value: Any) -> bool:
    return _is_list(value) and all(map(_is_dict, value))


def _are_counts(value: Any) -> bool:
    return _is_dict(value) and all(
        isinstance(name, str) and _is_count(count) for name, count in value.items()
    )


def _is_dict_of_small_numbers(value: Any) -> bool:
    return _is_dict(value) and all(map(_is_small, value.values()))


def _is_small(value: Any) -> bool:
    return not isinstance(value, int | float) or abs(value) <= NUMBER_MAX  # which no NaN is


def _are_pools(value: Any) -> bool:
    return _are_dicts(value) and all(map(_is_pool, value))


def _is_pool(pool: Mapping[str, Any]) -> bool:
    node, tags = pool.get("numa_node"), pool.get("tags")
    return (
        _is_count(pool.get("count", 1))
        and (node is None or type(node) is int)
        and (tags is None or _is_dict(tags))
    )


_SHAPES: Mapping[str, Callable[[Any], bool]] = {
    "supported_instances": _are_lists_of_texts,
    "isolation": _is_dict,
    "stats": _is_dict_of_small_numbers,
    "numa_topology": _is_dict,
    "pci_stats": _are_pools,
    "pci_reserved": _are_pools,
    "placed_instances": _are_texts,
    "instance_flavors": _are_counts,
    "instance_image_properties": _are_counts,
    "cached_images": _are_texts,
    "metrics": _is_list,
}
