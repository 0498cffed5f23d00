"""Allocations of consumers, and on resource providers."""

from collections.abc import Mapping
from typing import Any

from oslo_utils import timeutils

from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action
from armillary.http.microversion import Version
from placement.ledger.allocations import ConsumerRecord
from placement.ledger.consumer_writes import ANY, ConsumerWrite
from placement.ledger.ledger import Amounts
from placement.providers import names
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.policies import allocation as policies
from placement.rest.schemas import allocation as schemas

OWNER_SINCE: Version = (1, 12)
GENERATION_SINCE: Version = (1, 28)
TYPE_SINCE: Version = (1, 38)


def show(call: Call) -> Answer:
    """List the allocations of a consumer; an empty list is not an error."""
    uuid = names.to_uuid(call.path["consumer_uuid"])
    record = call.engine.allocations.find(uuid) if uuid else None
    if record is None:
        return Answer({"allocations": {}}, last_modified=timeutils.utcnow())
    return Answer(_shown(record, call.version), last_modified=record.updated_at)


def index_of_provider(call: Call) -> Answer:
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


def update(call: Call) -> Answer:
    """Replace the allocations of a consumer."""
    sent = call.path["consumer_uuid"]
    uuid = names.to_uuid(sent)
    if uuid is None:
        raise errors.bad_request(f"Malformed consumer_uuid: {sent}")
    write(call, [parse(call, uuid, call.body)])
    return Answer()


def manage(call: Call) -> Answer:
    """Replace the allocations of several consumers, atomically."""
    write(call, parse_all(call, call.body))
    return Answer()


def delete(call: Call) -> Answer:
    """Delete all allocations of a consumer."""
    sent = call.path["consumer_uuid"]
    try:
        call.engine.consumer_writes.delete(names.to_uuid(sent) or sent)
    except exception.ConsumerNotFound as error:
        raise errors.not_found(f"No allocations for consumer '{sent}'") from error
    return Answer()


def write(call: Call, writes: list[ConsumerWrite]) -> None:
    """Write consumers; raise status 400 for unknown names."""
    try:
        call.engine.consumer_writes.put(writes, once=call.once)
    except exception.ResourceProviderNotFound as error:
        raise errors.bad_request(no_provider(error)) from error
    except exception.ResourceClassNotFound as error:
        consumers = ", ".join(item.consumer_uuid for item in writes[:3])
        raise errors.bad_request(
            f"Unable to allocate inventory for consumer {consumers}: {error}"
        ) from error


def no_provider(error: exception.ResourceProviderNotFound) -> str:
    """Return the message for an allocation on a provider that does not exist."""
    provider = error.kwargs["provider"]
    return f"Allocation for resource provider '{provider}' that does not exist."


def parse_all(call: Call, body: Mapping[str, Any]) -> list[ConsumerWrite]:
    """Return the writes for a mapping of consumer -> allocations."""
    return [parse(call, consumer, item) for consumer, item in _by_uuid(body, "consumer").items()]


def parse(call: Call, consumer: str, body: Mapping[str, Any]) -> ConsumerWrite:
    """Return the write for one consumer."""
    is_incomplete = "project_id" not in body
    site = call.site
    return ConsumerWrite(
        consumer_uuid=consumer,
        allocations=_amounts(body["allocations"]),
        project_id=site.incomplete_consumer_project_id if is_incomplete else body["project_id"],
        user_id=site.incomplete_consumer_user_id if is_incomplete else body["user_id"],
        consumer_type=body.get("consumer_type"),
        generation=body.get("consumer_generation", ANY),
        is_incomplete=is_incomplete,
    )


def _amounts(allocations: Any) -> Amounts:
    if isinstance(allocations, list):  # up to 1.11
        pairs = [(item["resource_provider"]["uuid"], item) for item in allocations]
        if len({uuid for uuid, _ in pairs}) < len(pairs):
            raise errors.bad_request("allocations name a resource provider twice")
        allocations = dict(pairs)
    by_provider = _by_uuid(allocations, "resource provider")
    return {provider: dict(item["resources"]) for provider, item in by_provider.items()}


def _by_uuid(items: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Return items by their UUIDs in canonical form."""
    found = {names.to_uuid(key) or key: item for key, item in items.items()}
    if len(found) < len(items):
        raise errors.bad_request(f"a {what} is named twice, in two forms of its UUID")
    return found


def _shown(record: ConsumerRecord, version: Version) -> dict[str, object]:
    body: dict[str, object] = {
        "allocations": {
            provider: {"generation": record.provider_generations[provider], "resources": resources}
            for provider, resources in record.amounts.items()
        }
    }
    if version >= OWNER_SINCE:
        body |= {"project_id": record.project_id, "user_id": record.user_id}
    if version >= GENERATION_SINCE:
        body["consumer_generation"] = record.generation
    if version >= TYPE_SINCE:
        body["consumer_type"] = record.consumer_type
    return body


ROUTES: Routes = {
    "/allocations": {
        "POST": Action(manage, policies.MANAGE, since=(1, 13), body=schemas.MANAGE, status=204)
    },
    "/allocations/{consumer_uuid}": {
        "GET": Action(show, policies.LIST),
        "PUT": Action(update, policies.UPDATE, body=schemas.UPDATE, status=204),
        "DELETE": Action(delete, policies.DELETE, status=204),
    },
    "/resource_providers/{uuid}/allocations": {
        "GET": Action(index_of_provider, policies.PROVIDER_LIST)
    },
}
