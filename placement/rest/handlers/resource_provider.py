"""Resource providers, single or in trees."""

import itertools
import uuid

from oslo_utils import timeutils

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.providers.provider_record import ProviderFilters, ProviderRecord
from placement.providers.resource_providers import Parent
from placement.rest import query_values
from placement.rest.call import Call, Routes
from placement.rest.existence_checks import check_resource_classes, check_traits
from placement.rest.policies import resource_provider as policies
from placement.rest.schemas import resource_provider as schemas
from placement.rest.versions import MIN

TREES_SINCE = (1, 14)
BODY_OF_CREATE_SINCE = (1, 20)
REPARENTING_SINCE = (1, 37)

_LINKS = (  # name, the version that introduced it
    ("inventories", MIN),
    ("usages", MIN),
    ("aggregates", (1, 1)),
    ("traits", (1, 6)),
    ("allocations", (1, 11)),
)


def index(call: Call) -> Answer:
    """List the providers that pass all filters."""
    found = call.engine.resource_providers.list(_filters(call))
    return Answer(
        {"resource_providers": [_show(call, record) for record in found]},
        last_modified=max((item.updated_at for item in found), default=timeutils.utcnow()),
    )


def show(call: Call) -> Answer:
    """Show a provider."""
    return _answer(call, call.engine.resource_providers.get(call.path["uuid"]))


def exists(call: Call) -> None:
    """Raise ``ResourceProviderNotFound`` unless the provider of the path exists."""
    call.engine.resource_providers.get(call.path["uuid"])


def create(call: Call) -> Answer:
    """Create a provider; since 1.20 the response shows it."""
    wanted = call.body
    record = call.engine.resource_providers.create(
        _uuid(wanted.get("uuid")) or str(uuid.uuid4()),
        wanted["name"],
        _uuid(wanted.get("parent_provider_uuid")),
        once=call.once,
    )
    headers = {"Location": call.location(_path(record))}
    if call.version < BODY_OF_CREATE_SINCE:
        return Answer(status=201, headers=headers)
    return Answer(_show(call, record), headers=headers, last_modified=record.updated_at)


def update(call: Call) -> Answer:
    """Rename a provider, and move it in its tree or to another."""
    parent: str | Parent | None = Parent.UNCHANGED
    if "parent_provider_uuid" in call.body:
        parent = _uuid(call.body["parent_provider_uuid"])
    record = call.engine.resource_providers.update(
        call.path["uuid"], call.body["name"], parent, may_reparent=call.version >= REPARENTING_SINCE
    )
    return _answer(call, record)


def delete(call: Call) -> Answer:
    """Delete a provider without allocations and children."""
    call.engine.resource_providers.delete(call.path["uuid"])
    return Answer()


def _filters(call: Call) -> ProviderFilters:
    places = traits = query_values.Constraints()
    amounts: dict[str, int] = {}
    if member_of := call.query.get("member_of"):
        places = query_values.parse_aggregates("member_of", member_of, call.version)
    if (resources := call.parameter("resources")) is not None:
        amounts = query_values.parse_resources(resources)
        check_resource_classes(call.engine, amounts)
    if required := call.query.get("required"):
        traits = query_values.parse_traits("required", required, call.version)
        check_traits(call.engine, {*itertools.chain(traits.forbidden, *traits.required)})
    return ProviderFilters(
        name=call.parameter("name") or None,
        uuid=_uuid(call.parameter("uuid")),
        in_tree=_uuid(call.parameter("in_tree")),
        resources=amounts,
        required_traits=tuple(map(tuple, traits.required)),
        forbidden_traits=tuple(traits.forbidden),
        member_of=tuple(map(tuple, places.required)),
        forbidden_aggregates=tuple(places.forbidden),
    )


def _uuid(text: str | None) -> str | None:
    """Return a valid UUID in canonical form."""
    return None if text is None else names.to_uuid(text)


def _answer(call: Call, record: ProviderRecord) -> Answer:
    return Answer(_show(call, record), last_modified=record.updated_at)


def _show(call: Call, record: ProviderRecord) -> dict[str, object]:
    shown: dict[str, object] = {
        "uuid": record.uuid,
        "name": record.name,
        "generation": record.generation,
        "links": _links(call, record),
    }
    if call.version >= TREES_SINCE:
        shown["parent_provider_uuid"] = record.parent_provider_uuid
        shown["root_provider_uuid"] = record.root_provider_uuid
    return shown


def _links(call: Call, record: ProviderRecord) -> list[dict[str, str]]:
    path = call.link(_path(record))
    links = [{"rel": "self", "href": path}]
    links += [
        {"rel": name, "href": f"{path}/{name}"} for name, since in _LINKS if since <= call.version
    ]
    return links


def _path(record: ProviderRecord) -> str:
    return f"/resource_providers/{record.uuid}"


ROUTES: Routes = {
    "/resource_providers": {
        "GET": Action(index, policies.LIST, query=schemas.LIST_QUERY),
        "POST": Action(create, policies.CREATE, body=schemas.CREATE),
    },
    "/resource_providers/{uuid}": {
        "GET": Action(show, policies.SHOW),
        "PUT": Action(update, policies.UPDATE, body=schemas.UPDATE, exists=exists),
        "DELETE": Action(delete, policies.DELETE, status=204),
    },
}
