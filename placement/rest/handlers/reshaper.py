"""Reshaper: atomic changes of inventories and allocations."""

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.providers.inventory import Inventory
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.handlers import allocation, inventory
from placement.rest.policies import reshaper as policies
from placement.rest.schemas import reshaper as schemas


def reshape(call: Call) -> Answer:
    """Replace inventories of providers and allocations of consumers, atomically."""
    writes = allocation.parse_all(call, call.body["allocations"])
    try:
        call.engine.consumer_writes.reshape(_shapes(call), writes, once=call.once)
    except exception.ResourceProviderNotFound as error:
        raise errors.bad_request(str(error), errors.PROVIDER_NOT_FOUND) from error
    except exception.ResourceClassNotFound as error:
        raise errors.bad_request(f"Unable to reshape: {error}") from error
    return Answer()


def _shapes(call: Call) -> dict[str, tuple[int, dict[str, Inventory]]]:
    shapes = {}
    for sent, given in call.body["inventories"].items():
        inventories = {
            name: inventory.parse(call, values, "reshape")
            for name, values in given["inventories"].items()
        }
        shapes[names.to_uuid(sent) or sent] = given["resource_provider_generation"], inventories
    if len(shapes) < len(call.body["inventories"]):
        raise errors.bad_request("a resource provider is named twice, in two forms of its UUID")
    return shapes


ROUTES: Routes = {
    "/reshaper": {
        "POST": Action(reshape, policies.RESHAPE, since=(1, 30), body=schemas.RESHAPE, status=204)
    }
}
