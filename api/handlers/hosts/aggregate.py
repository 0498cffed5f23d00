"""Aggregates: sets of hosts, optionally with an availability zone for their hosts."""

from api.call import Call
from api.formats import times
from api.formats.integer_ids import is_integer_id
from api.policies.hosts import aggregate as policies
from api.schemas.hosts import aggregate as schemas
from api.validation import is_uuid_in_any_case
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, ActionByBody, Routes
from armillary.http.validation import invalid
from objects.aggregate import AVAILABILITY_ZONE_KEY, Aggregate, AggregateChanges
from objects.extra_specs import aggregate_metadata


def index(call: Call) -> Answer:
    """List aggregates."""
    aggregates = call.conductor.list_aggregates(call.context)
    return Answer({"aggregates": [_show(aggregate) for aggregate in aggregates]})


def show(call: Call) -> Answer:
    """Show an aggregate, given by id or UUID."""
    return _answer(call.conductor.get_aggregate(call.context, _aggregate_id(call)))


def create(call: Call) -> Answer:
    """Create an aggregate, optionally with an availability zone."""
    wanted = call.body["aggregate"]
    return _answer(
        call.conductor.create_aggregate(
            call.context, wanted["name"], wanted.get("availability_zone")
        )
    )


def update(call: Call) -> Answer:
    """Change the name or the availability zone of an aggregate."""
    wanted = call.body["aggregate"]
    metadata = None
    if "availability_zone" in wanted:
        metadata = {AVAILABILITY_ZONE_KEY: wanted["availability_zone"]}
    return _update(call, AggregateChanges(wanted.get("name"), metadata))


def delete(call: Call) -> Answer:
    """Delete an aggregate that has no hosts."""
    try:
        call.conductor.delete_aggregate(call.context, _aggregate_id(call))
    except exception.InUse as error:  # the Compute API has no 409 here
        raise exception.Invalid(error.message) from error
    return Answer()


def add_host(call: Call) -> Answer:
    """Add a host to an aggregate."""
    host = call.body["add_host"]["host"]
    return _answer(call.conductor.add_aggregate_host(call.context, _aggregate_id(call), host))


def remove_host(call: Call) -> Answer:
    """Remove a host from an aggregate."""
    host = call.body["remove_host"]["host"]
    return _answer(call.conductor.remove_aggregate_host(call.context, _aggregate_id(call), host))


def set_metadata(call: Call) -> Answer:
    """Set metadata of an aggregate; null removes a key."""
    metadata = call.body["set_metadata"]["metadata"]
    for key, rule in aggregate_metadata.mistakes(metadata):
        raise invalid(f"set_metadata.metadata.{key}", metadata[key], rule)
    return _update(call, AggregateChanges(metadata=metadata))


def cache_images(call: Call) -> Answer:
    """Have the hosts of an aggregate fetch images; notifications and the log say how it went."""
    aggregate = _aggregate_id(call)
    call.conductor.get_aggregate(call.context, aggregate)
    image_ids = []
    for number, image in enumerate(call.body["cache"]):
        try:
            found = call.site.images.get(call.context, image["id"])
        except exception.ImageNotFound as error:
            raise invalid(f"cache.{number}.id", image["id"], error.message) from error
        image_ids.append(found.id)
    call.conductor.cache_images(call.context, aggregate, image_ids)
    return Answer()


def _aggregate_id(call: Call) -> str:
    """Return the id or UUID of the path. Raises Invalid for what is neither.

    A negative number is one that no aggregate has, as in Nova.
    """
    wanted = call.path["aggregate_id"]
    if not (is_integer_id(wanted.removeprefix("-")) or is_uuid_in_any_case(wanted)):
        raise invalid("aggregate_id", wanted, "It must be the number or UUID of an aggregate")
    return wanted


def _update(call: Call, changes: AggregateChanges) -> Answer:
    return _answer(call.conductor.update_aggregate(call.context, _aggregate_id(call), changes))


def _answer(aggregate: Aggregate) -> Answer:
    return Answer({"aggregate": _show(aggregate)})


def _show(aggregate: Aggregate) -> Document:
    return {
        "id": aggregate.id,
        "uuid": aggregate.uuid,
        "name": aggregate.name,
        "availability_zone": aggregate.availability_zone,
        "hosts": aggregate.hosts,
        "metadata": aggregate.metadata,
        "created_at": times.microseconds(aggregate.created_at),
        "updated_at": times.microseconds(aggregate.updated_at),
        "deleted_at": None,
        "deleted": False,
    }


ROUTES: Routes[Call] = {
    "/v2.1/os-aggregates": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER),
        "POST": Action(create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE),
    },
    "/v2.1/os-aggregates/{aggregate_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER),
        "PUT": Action(update, policies.UPDATE, schemas.SHOW_ANSWER, body=schemas.UPDATE),
        "DELETE": Action(delete, policies.DELETE),
    },
    "/v2.1/os-aggregates/{aggregate_id}/images": {
        "POST": Action(
            cache_images,
            policies.CACHE_IMAGES,
            body=schemas.CACHE_IMAGES,
            status=202,
            since=schemas.CACHE_SINCE,
        )
    },
    "/v2.1/os-aggregates/{aggregate_id}/action": {
        "POST": ActionByBody(
            {
                "add_host": Action(
                    add_host, policies.ADD_HOST, schemas.SHOW_ANSWER, body=schemas.ADD_HOST
                ),
                "remove_host": Action(
                    remove_host, policies.REMOVE_HOST, schemas.SHOW_ANSWER, body=schemas.REMOVE_HOST
                ),
                "set_metadata": Action(
                    set_metadata,
                    policies.SET_METADATA,
                    schemas.SHOW_ANSWER,
                    body=schemas.SET_METADATA,
                ),
            }
        )
    },
}
