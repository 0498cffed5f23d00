"""Usages of resource providers: how much of each class is taken."""

from __future__ import annotations

from oslo_utils import timeutils

from armillary import exception
from placement import names
from placement.rest.call import Answer, Call


def index(call: Call) -> Answer:
    """Show how much of each class that a provider has is in use."""
    uuid = names.to_uuid(call.path["uuid"])
    if uuid is None:
        raise exception.ResourceProviderNotFound(provider=call.path["uuid"])
    generation, usages = call.engine.usages.get_of_provider(uuid)
    body = {"resource_provider_generation": generation, "usages": usages}
    return Answer(body, last_modified=timeutils.utcnow())
