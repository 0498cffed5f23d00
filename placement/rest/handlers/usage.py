"""Usages of projects, and of resource providers."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from oslo_utils import timeutils

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from armillary.http.microversion import Version
from placement.ledger.usages import TypeUsage
from placement.providers import names
from placement.rest.call import Call, Routes
from placement.rest.policies import usage as policies
from placement.rest.schemas import usage as schemas

BY_TYPE_SINCE: Version = (1, 38)
ALL_TYPES = "all"


def index(call: Call) -> Answer:
    """Show the usage of a project, or of a user in it."""
    consumer_type = call.parameter("consumer_type")
    usages = call.engine.usages.get_of_project(
        call.query["project_id"][-1],
        user_id=call.parameter("user_id"),
        consumer_type=None if consumer_type == ALL_TYPES else consumer_type,
    )
    body: dict[str, object] = {"usages": _sums(usages)}
    if call.version >= BY_TYPE_SINCE:
        if consumer_type == ALL_TYPES and usages:
            usages = {ALL_TYPES: _joined(usages)}
        body = {"usages": {type_: _shown(item) for type_, item in usages.items()}}
    return Answer(body, last_modified=timeutils.utcnow())


def show_provider(call: Call) -> Answer:
    """Show the usage of each class that a provider has."""
    uuid = names.to_uuid(call.path["uuid"])
    if uuid is None:
        raise exception.ResourceProviderNotFound(provider=call.path["uuid"])
    generation, usages = call.engine.usages.get_of_provider(uuid)
    body = {"resource_provider_generation": generation, "usages": usages}
    return Answer(body, last_modified=timeutils.utcnow())


def target(call: Call) -> Mapping[str, Any]:
    """Return the project of the request, as policy target."""
    return {"project_id": call.parameter("project_id")}


def _joined(usages: Mapping[str, TypeUsage]) -> TypeUsage:
    count = sum(item.consumer_count for item in usages.values())
    return TypeUsage(count, _sums(usages))


def _sums(usages: Mapping[str, TypeUsage]) -> dict[str, int]:
    sums = Counter[str]()
    for item in usages.values():
        sums.update(item.resources)
    return dict(sums)


def _shown(usage: TypeUsage) -> dict[str, int]:
    return {"consumer_count": usage.consumer_count, **usage.resources}


ROUTES: Routes = {
    "/resource_providers/{uuid}/usages": {"GET": Action(show_provider, policies.SHOW_PROVIDER)},
    "/usages": {
        "GET": Action(index, policies.SHOW_TOTAL, since=(1, 9), query=schemas.INDEX, subject=target)
    },
}
