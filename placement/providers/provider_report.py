"""Provider reports from their owners, and the stored state that results from them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from armillary import exception
from armillary.names.identifiers import is_uuid
from placement.providers import names
from placement.providers.inventory import Inventory, parse_inventory

NAME_LENGTH_MAX = 200
ORDER_MAX = 2**62
_REQUIRED = frozenset({"uuid", "name", "inventories", "traits"})
_OPTIONAL = frozenset({"managed_traits", "order"})


@dataclass(frozen=True)
class CurrentProvider:
    """Stored state of a provider; ``used`` names the classes with allocations.

    ``order`` is that of its owner's last report.
    """

    uuid: str
    name: str
    inventories: Mapping[str, Inventory]
    traits: frozenset[str]
    used: frozenset[str] = field(default=frozenset(), compare=False)
    generation: int = field(default=0, compare=False)
    id: int | None = field(default=None, compare=False)
    cell_uuid: str | None = field(default=None, compare=False)
    order: int = field(default=0, compare=False)


def is_provider_name(value: object) -> bool:
    """Return whether a name is valid for a provider."""
    return names.is_text(value, NAME_LENGTH_MAX)


def is_late(report: Mapping[str, Any], last_order: int) -> bool:
    """Return whether a report was made before the last report, or deletion."""
    order = report.get("order")
    return isinstance(order, int) and order < last_order


def facts_after(report: Mapping[str, Any], present: CurrentProvider | None) -> CurrentProvider:
    """Return the state to store after a report.

    Raises ``Invalid`` for a malformed report, ``InventoryInUse`` if it lacks a class that has
    allocations. An inventory may shrink below its usage.
    """
    _check_fields(report)
    uuid, name = report["uuid"], report["name"]
    if not is_provider_name(name):
        raise _invalid(report, f"name must have 1 to {NAME_LENGTH_MAX} printable characters")
    inventories = _inventories(report, present.inventories if present else {})
    if present is not None:
        for resource_class in sorted(present.used - inventories.keys()):
            raise exception.InventoryInUse(resource_class=resource_class, provider=uuid)
    return CurrentProvider(
        uuid=uuid,
        name=name,
        inventories=inventories,
        traits=_traits(report, present.traits if present else frozenset()),
        used=present.used if present else frozenset(),
        generation=present.generation if present else 0,
        id=present.id if present else None,
        cell_uuid=present.cell_uuid if present else None,
        order=_order(report, present.order if present else 0),
    )


def _check_fields(report: Mapping[str, Any]) -> None:
    if missing := sorted(_REQUIRED - report.keys()):
        raise _invalid(report, f"{missing[0]} is missing")
    if unknown := sorted(report.keys() - _REQUIRED - _OPTIONAL):
        raise _invalid(report, f"unknown field {unknown[0]}")
    if not is_uuid(report["uuid"]):
        raise _invalid(report, "uuid must be a UUID in lower case")


def _order(report: Mapping[str, Any], present: int) -> int:
    """Return the number of a report; that of the last one if it has none."""
    order = report.get("order", present)
    if not isinstance(order, int) or not 0 <= order <= ORDER_MAX:
        raise _invalid(report, f"order must be an integer from 0 to {ORDER_MAX}")
    return order


def _inventories(
    report: Mapping[str, Any], present: Mapping[str, Inventory]
) -> dict[str, Inventory]:
    if not isinstance(report["inventories"], Mapping):
        raise _invalid(report, "inventories must be an object")
    inventories = {}
    for name, values in report["inventories"].items():
        if not names.is_resource_class(name):
            raise _invalid(report, f"no resource class {name} exists")
        inventories[name] = parse_inventory(report["uuid"], name, values, present.get(name))
    return inventories


def _traits(report: Mapping[str, Any], present: Iterable[str]) -> frozenset[str]:
    """Return the reported traits, and those that others set."""
    reported = _trait_names(report, "traits")
    managed = _trait_names(report, "managed_traits")
    return frozenset(reported | (set(present) - managed))


def _trait_names(report: Mapping[str, Any], field_name: str) -> set[str]:
    value = report.get(field_name, [])
    if not isinstance(value, list | tuple):
        raise _invalid(report, f"{field_name} must be a list")
    for name in value:
        if not isinstance(name, str) or not names.is_trait(name):
            raise _invalid(report, f"{field_name}: no trait {name} exists")
    return set(value)


def _invalid(report: Mapping[str, Any], reason: str) -> exception.Invalid:
    return exception.Invalid(reason=f"resource provider {report.get('uuid')}: {reason}")
