"""Resource classes: the kinds of resources."""

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.policies import resource_class as policies
from placement.rest.schemas import resource_class as schemas
from placement.rest.validation import Check

_NAME = Check(schemas.NAME)


def index(call: Call) -> Answer:
    """List resource classes."""
    classes = call.engine.resource_classes.list()
    body = {"resource_classes": [_show(call, record.name) for record in classes]}
    return Answer(body, last_modified=max(record.updated_at for record in classes))


def show(call: Call) -> Answer:
    """Show a resource class."""
    record = call.engine.resource_classes.get(call.path["name"])
    return Answer(_show(call, record.name), last_modified=record.updated_at)


def create(call: Call) -> Answer:
    """Create a resource class."""
    name = call.body["name"]
    try:
        call.engine.resource_classes.create(name, once=call.once)
    except exception.ResourceClassExists as error:
        raise errors.conflict(f"Conflicting resource class already exists: {name}") from error
    return Answer(status=201, headers=_location(call, name))


def update(call: Call) -> Answer:
    """Rename a resource class if the body has a new name; else create it unless it exists."""
    return _ensure(call) if call.body is None else _rename(call)


def delete(call: Call) -> Answer:
    """Delete a resource class that no provider has an inventory of."""
    try:
        call.engine.resource_classes.delete(call.path["name"])
    except exception.ResourceClassInUse as error:
        raise errors.conflict(f"Error in delete resource class: {error}") from error
    return Answer()


def _ensure(call: Call) -> Answer:
    name = call.path["name"]
    _NAME.body(name)
    is_new = call.engine.resource_classes.ensure(name)
    return Answer(status=201 if is_new else 204, headers=_location(call, name))


def _rename(call: Call) -> Answer:
    name = call.body["name"]
    try:
        call.engine.resource_classes.rename(call.path["name"], name)
    except exception.ResourceClassExists as error:
        raise errors.conflict(f"Resource class already exists: {name}") from error
    return Answer(_show(call, name), status=200)


def _show(call: Call, name: str) -> dict[str, object]:
    link = call.link(f"/resource_classes/{name}")
    return {"name": name, "links": [{"rel": "self", "href": link}]}


def _location(call: Call, name: str) -> dict[str, str]:
    return {"Location": call.location(f"/resource_classes/{name}")}


ROUTES: Routes = {
    "/resource_classes": {
        "GET": Action(index, policies.LIST, since=(1, 2)),
        "POST": Action(
            create, policies.CREATE, since=(1, 2), body={(1, 2): schemas.NAMED}, status=204
        ),
    },
    "/resource_classes/{name}": {
        "GET": Action(show, policies.SHOW, since=(1, 2)),
        "PUT": Action(
            update, policies.UPDATE, since=(1, 2), body={(1, 2): schemas.NAMED, (1, 7): None}
        ),
        "DELETE": Action(delete, policies.DELETE, since=(1, 2), status=204),
    },
}
