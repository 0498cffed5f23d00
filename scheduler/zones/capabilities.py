"""Zone capabilities: roll-up, merging and validation."""

import dataclasses
import json
import operator
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Self

import numpy as np

from armillary import exception
from objects.hosts import host_attributes
from objects.hosts.host_attributes import HostAttribute, Kind, Rollup
from scheduler.hosts.host_table import HostTable, Numbers

Rolled = float | bool | list[Any] | dict[str, int] | None
"""A rolled-up host attribute; None in a list stands for hosts that do not report it."""

_VALUES_MAX = 10_000
"""Maximum size of one set; larger ones are rejected."""

_RANGES_MAX = 64
"""Maximum number of ranges of a histogram."""

_DIGITS_MAX = 20
"""Maximum length of a range's name, the least value in it; Python reads no number of any length."""

_SUMMARISED = [each for each in host_attributes.HOST_ATTRIBUTES if each.rollup is not Rollup.NONE]
_SETS = ("traits", "filters", "profiles")


@dataclasses.dataclass(frozen=True, slots=True)
class Capabilities:
    """What the hosts of a zone and its sub-tree can do.

    ``attributes`` holds host attributes, rolled up by the rules of their declaration; a missing one
    is unknown. ``hosts`` is the number of hosts that they cover. ``resources`` (class -> greatest
    free amount on one provider) and ``traits`` come from placement; None means unknown. ``filters``
    are those that every zone runs, and ``profiles`` the weighing profiles in use. What is unknown
    rules out nothing.
    """

    attributes: dict[str, Rolled]
    hosts: int
    filters: list[str]
    profiles: list[str]
    resources: dict[str, float] | None = None
    traits: list[str] | None = None

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Return this process's own capabilities from their wire form, without checks."""
        return cls(**plain)

    def to_plain(self) -> dict[str, object]:
        """Return the wire form, without what is unknown."""
        found = {each.name: getattr(self, each.name) for each in dataclasses.fields(self)}
        return {name: value for name, value in found.items() if value is not None}


def attributes_of(hosts: HostTable) -> dict[str, Rolled]:
    """Return the rolled-up attributes of these hosts."""
    return {each.name: _rolled_up(each, hosts) for each in _SUMMARISED}


def adding_up() -> list[str]:
    """Return the names of the attributes that are summed."""
    return [each.name for each in _SUMMARISED if each.rollup is Rollup.SUM]


def merged(own: Capabilities, others: Iterable[tuple[Capabilities, bool]]) -> Capabilities:
    """Return the capabilities of several zones together.

    Each of the others comes with a flag that says whether it may be added. Capabilities that
    return through a cycle of zones must not be added, because the zone would count itself.
    """
    made = own
    for each, adds_up in others:
        made = Capabilities(
            attributes=_merged_attributes(made.attributes, each.attributes, adds_up=adds_up),
            hosts=made.hosts + each.hosts if adds_up else max(made.hosts, each.hosts),
            filters=sorted(set(made.filters) & set(each.filters)),
            profiles=sorted(set(made.profiles) | set(each.profiles)),
            resources=_merged_resources(made.resources, each.resources),
            traits=None
            if made.traits is None or each.traits is None
            else sorted(set(made.traits) | set(each.traits)),
        )
    return made


def checked(given: Any) -> Capabilities:
    """Return another zone's capabilities without the parts that are not known here.

    Raises ``Invalid`` if they are malformed.
    """
    if not isinstance(given, Mapping):
        raise _nonsense("capabilities")
    attributes = _checked_attributes(given.get("attributes"))
    hosts: Any = given.get("hosts")
    if not _is_count(hosts):
        raise _nonsense("hosts")
    resources = given.get("resources")
    if "resources" in given and not (
        isinstance(resources, Mapping) and all(map(_is_number, resources.values()))
    ):
        raise _nonsense("resources")
    for name in _SETS:
        if name in given:
            _check_texts(name, given[name])
    return Capabilities(
        attributes=attributes,
        hosts=hosts,
        filters=list(given.get("filters", ())),
        profiles=list(given.get("profiles", ())),
        resources=None if resources is None else dict(resources),
        traits=list(given["traits"]) if "traits" in given else None,
    )


def is_worth_pushing(old: Capabilities | None, new: Capabilities) -> bool:
    """Return whether a change is worth an immediate push: a capability was added, lost or grew."""
    if old is None or bool(old.hosts) != bool(new.hosts):
        return True
    if any(set(getattr(old, name) or ()) != set(getattr(new, name) or ()) for name in _SETS):
        return True
    if _has_more(old.resources or {}, new.resources or {}):
        return True
    for each in _SUMMARISED:
        was, now = (which.attributes.get(each.name) for which in (old, new))
        if each.rollup in (Rollup.ANY, Rollup.UNION) and was != now:
            return True
        if each.rollup is Rollup.MAX:
            assert not isinstance(was, list | dict)
            assert not isinstance(now, list | dict)
            if _has_more({"": was or 0}, {"": now or 0}):
                return True
    return False


# Roll-up -----------------------------------------------------------------------------------------


def _rolled_up(attribute: HostAttribute, hosts: HostTable) -> Rolled:
    column = hosts.column(attribute.name)
    if isinstance(column, np.ndarray):
        if attribute.rollup is Rollup.SUM:
            total: float = column.sum().item()
            return total
        if attribute.rollup is Rollup.ANY:
            return bool(column.any())
        if attribute.rollup is Rollup.HISTOGRAM:
            return _histogram(column)
        if not len(column):
            return None
        ends = column.min() if attribute.rollup is Rollup.MIN else column.max()
        end: float = ends.item()
        return end
    distinct = {id(value): value for value in column}.values()
    if attribute.kind is Kind.TEXT:
        return _arranged(distinct)
    return _arranged(item for value in distinct for item in (value or ()))


def _merged_attributes(
    mine: Mapping[str, Rolled], theirs: Mapping[str, Rolled], *, adds_up: bool
) -> dict[str, Rolled]:
    """Merge attribute by attribute; an attribute missing in either is unknown for both."""
    return {
        each.name: _MERGE[each.rollup](mine[each.name], theirs[each.name], adds_up)
        for each in _SUMMARISED
        if each.name in mine and each.name in theirs
    }


def _sum(one: float, other: float, adds_up: bool) -> float:
    return one + other if adds_up else max(one, other)


def _histogram(column: Numbers) -> dict[str, int]:
    """Return the least value of each range -> number of hosts in it; negative values count as 0."""
    _mantissa, exponents = np.frexp(np.maximum(column, 0).astype(np.float64))
    least = np.where(column >= 1, 2.0 ** (exponents - 1), 0.0)
    values, hosts = np.unique(least, return_counts=True)
    return {
        f"{value:.0f}": count for value, count in zip(values.tolist(), hosts.tolist(), strict=True)
    }


def _least(one: float | None, other: float | None, adds_up: bool) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return min(known) if known else None


def _both_histograms(
    one: Mapping[str, int], other: Mapping[str, int], adds_up: bool
) -> dict[str, int]:
    """Return the sum of two histograms; a zone below both of them counts twice."""
    join = operator.add if adds_up else max
    ranges = sorted(one.keys() | other.keys(), key=int)
    return {name: join(one.get(name, 0), other.get(name, 0)) for name in ranges}


def _most(one: float | None, other: float | None, adds_up: bool) -> float | None:
    known = [value for value in (one, other) if value is not None]
    return max(known) if known else None


_MERGE: dict[Rollup, Callable[[Any, Any, bool], Rolled]] = {
    Rollup.SUM: _sum,
    Rollup.MAX: _most,
    Rollup.MIN: _least,
    Rollup.HISTOGRAM: _both_histograms,
    Rollup.ANY: lambda one, other, adds_up: one or other,
    Rollup.UNION: lambda one, other, adds_up: _arranged([*one, *other]),
}


def _merged_resources(
    mine: Mapping[str, float] | None, theirs: Mapping[str, float] | None
) -> dict[str, float] | None:
    if mine is None or theirs is None:
        return None
    names = sorted(mine.keys() | theirs.keys())
    return {name: max(mine.get(name, 0), theirs.get(name, 0)) for name in names}


def _arranged(values: Iterable[Any]) -> list[Any]:
    """Return distinct JSON values as plain lists and scalars, in a stable order."""
    found = {json.dumps(value, sort_keys=True, default=str) for value in values}
    return [json.loads(text) for text in sorted(found)]


# Validation --------------------------------------------------------------------------------------


def _checked_attributes(given: Any) -> dict[str, Rolled]:
    if not isinstance(given, Mapping):
        raise _nonsense("attributes")
    made = {}
    for each in _SUMMARISED:
        if each.name in given:
            value = given[each.name]
            if not _IS_RIGHT[each.rollup](value):
                raise _nonsense(f"attributes, {each.name}")
            made[each.name] = value
    return made


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_histogram(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= _RANGES_MAX
        and all(
            isinstance(name, str)
            and len(name) <= _DIGITS_MAX
            and name.isascii()
            and name.isdigit()
            and _is_count(hosts)
            for name, hosts in value.items()
        )
    )


def _is_set(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= _VALUES_MAX


_IS_RIGHT: dict[Rollup, Callable[[Any], bool]] = {
    Rollup.SUM: _is_number,
    Rollup.MAX: lambda value: value is None or _is_number(value),
    Rollup.MIN: lambda value: value is None or _is_number(value),
    Rollup.HISTOGRAM: _is_histogram,
    Rollup.ANY: lambda value: isinstance(value, bool),
    Rollup.UNION: _is_set,
}


def _check_texts(name: str, given: Collection[Any]) -> None:
    if not _is_set(given) or not all(isinstance(text, str) for text in given):
        raise _nonsense(name)


def _has_more(old: Mapping[str, float], new: Mapping[str, float]) -> bool:
    """Return whether some amount is greater than before, or dropped to zero."""
    return any(
        new.get(name, 0) > old.get(name, 0) or (new.get(name, 0) <= 0 < old.get(name, 0))
        for name in old.keys() | new.keys()
    )


def _nonsense(what: str) -> exception.Invalid:
    return exception.Invalid(reason=f"invalid zone summary: {what}")
