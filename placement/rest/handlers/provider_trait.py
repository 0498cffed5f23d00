"""Traits of a resource provider."""

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.db.provider_traits import ProviderTraits
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.policies import trait as trait_policies
from placement.rest.schemas import trait as trait_schemas


def index(call: Call) -> Answer:
    """List the traits of a provider."""
    return _answer(call.engine.traits.get_of(call.path["uuid"]))


def update(call: Call) -> Answer:
    """Replace the traits of a provider."""
    provider, wanted = call.path["uuid"], call.body
    generation = wanted["resource_provider_generation"]
    try:
        return _answer(call.engine.traits.set_of(provider, generation, wanted["traits"]))
    except exception.TraitNotFound as error:
        raise errors.bad_request(error.message) from error
    except exception.ResourceProviderGenerationConflict as error:
        raise errors.conflict(
            "Resource provider's generation already changed. Please update the generation and "
            "try again.",
            errors.CONCURRENT_UPDATE,
        ) from error


def delete(call: Call) -> Answer:
    """Remove all traits of a provider."""
    call.engine.traits.clear_of(call.path["uuid"])
    return Answer()


def _answer(found: ProviderTraits) -> Answer:
    body = {"resource_provider_generation": found.generation, "traits": sorted(found.traits)}
    return Answer(body, last_modified=found.updated_at)


ROUTES: Routes = {
    "/resource_providers/{uuid}/traits": {
        "GET": Action(index, trait_policies.PROVIDER_LIST, since=(1, 6)),
        "PUT": Action(
            update, trait_policies.PROVIDER_UPDATE, since=(1, 6), body={(1, 6): trait_schemas.SET}
        ),
        "DELETE": Action(delete, trait_policies.PROVIDER_DELETE, since=(1, 6), status=204),
    }
}
