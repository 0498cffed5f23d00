"""Access to private flavors: which projects may use one."""

from api.call import Call
from api.policies.flavors import flavor as policies
from api.schemas.flavors import flavor as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, ActionByBody, Routes


def index(call: Call) -> Answer:
    """List the projects that may use a private flavor."""
    flavor = call.conductor.get_flavor(call.context, call.path["flavor_id"])
    if flavor.is_public:
        raise exception.NotFound(what=f"An access list of the public flavor {flavor.flavorid}")
    return _answer(
        flavor.flavorid, call.conductor.list_flavor_access(call.context, flavor.flavorid)
    )


def add(call: Call) -> Answer:
    """Let a project use a private flavor."""
    flavor_id, project_id = call.path["flavor_id"], call.body["addTenantAccess"]["tenant"]
    return _answer(flavor_id, call.conductor.add_flavor_access(call.context, flavor_id, project_id))


def remove(call: Call) -> Answer:
    """Take a private flavor from a project; its servers keep their copy."""
    flavor_id, project_id = call.path["flavor_id"], call.body["removeTenantAccess"]["tenant"]
    return _answer(
        flavor_id, call.conductor.remove_flavor_access(call.context, flavor_id, project_id)
    )


def _answer(flavor_id: str, projects: list[str]) -> Answer:
    return Answer(
        {"flavor_access": [{"flavor_id": flavor_id, "tenant_id": each} for each in projects]}
    )


ROUTES: Routes[Call] = {
    "/v2.1/flavors/{flavor_id}/os-flavor-access": {
        "GET": Action(index, policies.LIST_ACCESS, schemas.ACCESS_ANSWER)
    },
    "/v2.1/flavors/{flavor_id}/action": {
        "POST": ActionByBody(
            {
                "addTenantAccess": Action(
                    add, policies.ADD_ACCESS, schemas.ACCESS_ANSWER, body=schemas.ADD_ACCESS
                ),
                "removeTenantAccess": Action(
                    remove,
                    policies.REMOVE_ACCESS,
                    schemas.ACCESS_ANSWER,
                    body=schemas.REMOVE_ACCESS,
                ),
            }
        )
    },
}
