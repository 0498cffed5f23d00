"""Aggregates of a provider."""

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.providers.provider_record import ProviderAggregates
from placement.rest.call import Call, Routes
from placement.rest.policies import aggregate as policies
from placement.rest.schemas import aggregate as schemas

GENERATION_SINCE = (1, 19)


def show(call: Call) -> Answer:
    """Show the aggregates of a provider."""
    return _answer(call, call.engine.resource_providers.get_aggregates(call.path["uuid"]))


def update(call: Call) -> Answer:
    """Set the aggregates of a provider."""
    has_generation = call.version >= GENERATION_SINCE
    sent = call.body["aggregates"] if has_generation else call.body
    generation = call.body["resource_provider_generation"] if has_generation else None
    wanted = dict.fromkeys(uuid for text in sent if (uuid := names.to_uuid(text)))
    found = call.engine.resource_providers.set_aggregates(
        call.path["uuid"], list(wanted), generation
    )
    return _answer(call, found)


def _answer(call: Call, found: ProviderAggregates) -> Answer:
    body: dict[str, object] = {"aggregates": found.aggregates}
    if call.version >= GENERATION_SINCE:
        body["resource_provider_generation"] = found.generation
    return Answer(body, last_modified=found.updated_at)


ROUTES: Routes = {
    "/resource_providers/{uuid}/aggregates": {
        "GET": Action(show, policies.LIST, since=(1, 1)),
        "PUT": Action(update, policies.UPDATE, since=(1, 1), body=schemas.UPDATE, exists=show),
    }
}
