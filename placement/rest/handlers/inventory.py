"""Inventories of resource providers."""

from collections.abc import Mapping
from typing import Any

import falcon

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from armillary.http.microversion import Version
from placement.db.inventories import Holdings
from placement.providers.inventory import AMOUNT_MAX, Inventory
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.handlers.resource_provider import exists
from placement.rest.policies import inventory as policies
from placement.rest.schemas import inventory as schemas

RESERVED_MAY_BE_TOTAL_SINCE: Version = (1, 26)

_DEFAULTS = {
    "reserved": 0,
    "min_unit": 1,
    "max_unit": AMOUNT_MAX,
    "step_size": 1,
    "allocation_ratio": 1.0,
}


def index(call: Call) -> Answer:
    """List the inventories of a provider."""
    return _all(call.engine.inventories.get(call.path["uuid"]))


def update_all(call: Call) -> Answer:
    """Replace the inventories of a provider."""
    provider = call.path["uuid"]
    try:
        inventories = {
            name: parse(call, values, "update") for name, values in call.body["inventories"].items()
        }
    except falcon.HTTPError:
        call.engine.inventories.check_generation(provider, _generation(call))
        raise
    try:
        return _all(call.engine.inventories.set_all(provider, _generation(call), inventories))
    except exception.ResourceClassNotFound as error:
        raise errors.bad_request(
            f"Unknown resource class in inventory for resource provider {provider}: {error}"
        ) from error


def create(call: Call) -> Answer:
    """Add an inventory to a provider."""
    provider, name = call.path["uuid"], call.body["resource_class"]
    inventory = parse(call, call.body, "create")
    try:
        holdings = call.engine.inventories.create_one(provider, name, inventory, once=call.once)
    except exception.ResourceClassNotFound as error:
        raise errors.bad_request(
            f"Unable to create inventory for resource provider {provider}: {error}"
        ) from error
    except exception.InventoryExists as error:
        raise errors.conflict(f"Update conflict: {error}", errors.CONCURRENT_UPDATE) from error
    location = call.location(f"/resource_providers/{provider}/inventories/{name}")
    return _one(holdings, name, {"Location": location})


def show(call: Call) -> Answer:
    """Show one inventory of a provider."""
    name = call.path["resource_class"]
    holdings = call.engine.inventories.get(call.path["uuid"])
    if name not in holdings.inventories:
        raise exception.InventoryNotFound(provider=holdings.uuid, resource_class=name)
    return _one(holdings, name)


def update(call: Call) -> Answer:
    """Change one inventory of a provider."""
    provider, name = call.path["uuid"], call.path["resource_class"]
    try:
        inventory = parse(call, call.body, "update")
    except falcon.HTTPError:
        call.engine.inventories.check_generation(provider, _generation(call))
        raise
    try:
        holdings = call.engine.inventories.set_one(provider, name, _generation(call), inventory)
    except exception.InventoryNotFound as error:
        call.engine.resource_classes.get(name)
        raise errors.bad_request(
            f"Unable to update inventory for resource provider {provider}: "
            f"No inventory record with resource class {name}."
        ) from error
    return _one(holdings, name)


def delete(call: Call) -> Answer:
    """Remove one inventory from a provider."""
    name = call.path["resource_class"]
    try:
        call.engine.inventories.delete_one(call.path["uuid"], name)
    except exception.InventoryNotFound as error:
        raise errors.not_found(f"No inventory of class {name} found for delete.") from error
    return Answer()


def delete_all(call: Call) -> Answer:
    """Remove all inventories from a provider."""
    call.engine.inventories.delete_all(call.path["uuid"])
    return Answer()


def parse(call: Call, values: Mapping[str, Any], verb: str) -> Inventory:
    """Return the inventory from validated JSON; raise status 400 if too much is reserved."""
    given = {name: values.get(name, default) for name, default in _DEFAULTS.items()}
    total, reserved = values["total"], given["reserved"]
    may_be_total = call.version >= RESERVED_MAY_BE_TOTAL_SINCE
    if reserved > total or (reserved == total and not may_be_total):
        limit = "greater than total" if may_be_total else "greater than or equal to total"
        raise errors.bad_request(
            f"Unable to {verb} inventory for resource provider {call.path.get('uuid')}: "
            f"reserved value {reserved} is {limit} {total}."
        )
    ratio = float(given.pop("allocation_ratio"))
    return Inventory(total=total, allocation_ratio=ratio, **given)


def _generation(call: Call) -> int:
    generation: int = call.body["resource_provider_generation"]
    return generation


def _all(holdings: Holdings) -> Answer:
    body = {
        "resource_provider_generation": holdings.generation,
        "inventories": {name: item.to_plain() for name, item in holdings.inventories.items()},
    }
    return Answer(body, last_modified=holdings.updated_at)


def _one(holdings: Holdings, name: str, headers: Mapping[str, str] | None = None) -> Answer:
    body = {
        "resource_provider_generation": holdings.generation,
        **holdings.inventories[name].to_plain(),
    }
    return Answer(body, headers=headers or {}, last_modified=holdings.updated_at)


ROUTES: Routes = {
    "/resource_providers/{uuid}/inventories": {
        "GET": Action(index, policies.LIST),
        "POST": Action(
            create, policies.CREATE, body={(1, 0): schemas.CREATE}, status=201, exists=exists
        ),
        "PUT": Action(update_all, policies.UPDATE, body={(1, 0): schemas.SET_ALL}, exists=exists),
        "DELETE": Action(delete_all, policies.DELETE, since=(1, 5), too_old_status=405, status=204),
    },
    "/resource_providers/{uuid}/inventories/{resource_class}": {
        "GET": Action(show, policies.SHOW),
        "PUT": Action(update, policies.UPDATE, body={(1, 0): schemas.SET_ONE}, exists=exists),
        "DELETE": Action(delete, policies.DELETE, status=204),
    },
}
