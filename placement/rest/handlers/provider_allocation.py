"""Allocations on resource providers."""

from oslo_utils import timeutils

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.rest.call import Call, Routes
from placement.rest.handlers.allocation import GENERATION_SINCE
from placement.rest.policies import allocation as allocation_policies


def index(call: Call) -> Answer:
    """List the allocations on a provider by consumer."""
    uuid = names.to_uuid(call.path["uuid"])
    if uuid is None:
        raise exception.ResourceProviderNotFound(provider=call.path["uuid"])
    found = call.engine.allocations.get_of_provider(uuid)
    allocations: dict[str, dict[str, object]] = {
        consumer: {"resources": resources} for consumer, resources in found.amounts.items()
    }
    if call.version >= GENERATION_SINCE:
        for consumer, item in allocations.items():
            item["consumer_generation"] = found.consumer_generations[consumer]
    body = {"allocations": allocations, "resource_provider_generation": found.generation}
    return Answer(body, last_modified=found.updated_at or timeutils.utcnow())


ROUTES: Routes = {
    "/resource_providers/{uuid}/allocations": {
        "GET": Action(index, allocation_policies.PROVIDER_LIST)
    }
}
