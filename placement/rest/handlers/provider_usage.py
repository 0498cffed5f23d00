"""Usages of resource providers."""

from oslo_utils import timeutils

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.rest.call import Call, Routes
from placement.rest.policies import usage as usage_policies


def index(call: Call) -> Answer:
    """Show the usage of each class that a provider has."""
    uuid = names.to_uuid(call.path["uuid"])
    if uuid is None:
        raise exception.ResourceProviderNotFound(provider=call.path["uuid"])
    generation, usages = call.engine.usages.get_of_provider(uuid)
    body = {"resource_provider_generation": generation, "usages": usages}
    return Answer(body, last_modified=timeutils.utcnow())


ROUTES: Routes = {
    "/resource_providers/{uuid}/usages": {"GET": Action(index, usage_policies.SHOW_PROVIDER)}
}
