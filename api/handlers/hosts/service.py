"""Services: their state, and disabling and forcing down hosts."""

from dataclasses import replace

from api.call import Call
from api.formats import times
from api.formats.integer_ids import integer_id, is_integer_id
from api.policies.hosts import service as policies
from api.schemas.base import Schema
from api.schemas.hosts import service as schemas
from api.validation import check_uuid
from armillary import exception
from armillary.http.call import Answer, Document, Handler
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from armillary.names.identifiers import is_uuid
from objects.hosts.host_answers import ServiceChanges
from objects.hosts.service import Service

OWN_PREFIX = "armillary-"
NOVA_PREFIX = "nova-"
INTERNAL_ZONE = "internal"
"""The availability zone of services that are not on hosts for servers."""
UUIDS_SINCE = (2, 53)
"""Services of earlier versions are shown by number."""
BY_HOST_UNTIL = (2, 52)
"""The last version that changes a service by its host and binary; later ones take its UUID."""
FORCE_DOWN_SINCE = (2, 11)


def index(call: Call) -> Answer:
    """List services of all cells."""
    listed = call.conductor.list_services(call.context)
    services = [
        {**_show(call, service), "armillary:cell": listed.cell_names.get(str(service.cell_uuid))}
        for service in listed.services
        if call.query.get("host") in (None, service.host)
        and own_binary(call.query.get("binary", service.binary)) == service.binary
    ]
    body: Document = {"services": services}
    if listed.down_cells:
        body["armillary:down_cells"] = listed.down_cells
    return Answer(body)


def update(call: Call) -> Answer:
    """Enable, disable or force down a service, given by UUID."""
    return _update(call, _service_id(call), _changes(call))


def enable(call: Call) -> Answer:
    """Enable the service of a host."""
    return _update(call, _uuid(call), ServiceChanges(disabled=False))


def disable(call: Call) -> Answer:
    """Disable the service of a host: no new servers are placed there, existing ones stay."""
    return _update(call, _uuid(call), ServiceChanges(disabled=True))


def disable_with_reason(call: Call) -> Answer:
    """Disable the service of a host, with a reason."""
    changes = ServiceChanges(disabled=True, disabled_reason=call.body["disabled_reason"])
    return _update(call, _uuid(call), changes)


def force_down(call: Call) -> Answer:
    """Force down the service of a host, or end that."""
    return _update(call, _uuid(call), ServiceChanges(forced_down=call.body["forced_down"]))


def delete(call: Call) -> Answer:
    """Delete the record of a service, with the host's nodes and providers."""
    call.conductor.delete_service(call.context, _service_id(call))
    return Answer()


def _service_id(call: Call) -> str:
    """Return the UUID of the service of the path.

    Versions that show numbers take them, too. Raises ServiceNotFound if no service has it, Invalid
    for what no service could have.
    """
    wanted = call.path["service_id"]
    if call.version >= UUIDS_SINCE or not is_integer_id(wanted):
        check_uuid("service_id", wanted)
        if is_uuid(wanted):
            return wanted
        raise exception.ServiceNotFound(service=wanted)
    for service in call.conductor.list_services(call.context).services:
        if integer_id(service.uuid) == int(wanted):
            return str(service.uuid)
    raise exception.ServiceNotFound(service=wanted)


def _changes(call: Call) -> ServiceChanges:
    body = call.body
    if "disabled_reason" in body and body.get("status") != "disabled":
        raise invalid(
            "disabled_reason", body["disabled_reason"], "It is allowed with status 'disabled' only"
        )
    return ServiceChanges(
        disabled=body["status"] == "disabled" if "status" in body else None,
        disabled_reason=body.get("disabled_reason"),
        forced_down=body.get("forced_down"),
    )


def _update(call: Call, service_id: str, changes: ServiceChanges) -> Answer:
    service = call.conductor.update_service(call.context, service_id, changes)
    return Answer({"service": _show(call, service)})


def _uuid(call: Call) -> str:
    """Return the UUID of the service that a body identifies by host and binary."""
    host, binary = call.body["host"], own_binary(call.body["binary"])
    for service in call.conductor.list_services(call.context).services:
        if (service.host, service.binary) == (host, binary):
            return str(service.uuid)
    raise exception.ServiceNotFound(service=f"{binary} on host {host}")


def own_binary(binary: str) -> str:
    """Return Armillary's name of a program, which may be given by Nova's."""
    word = binary.removeprefix(NOVA_PREFIX)
    return binary if word == binary else f"{OWN_PREFIX}{word}"


def shown_binary(call: Call, binary: str) -> str:
    """Return the name of a program in the words that the client asked for."""
    if call.shows_own or not binary.startswith(OWN_PREFIX):
        return binary
    return f"{NOVA_PREFIX}{binary.removeprefix(OWN_PREFIX)}"


def _show(call: Call, service: Service) -> Document:
    return {
        "id": service.uuid if call.version >= UUIDS_SINCE else integer_id(service.uuid),
        "binary": shown_binary(call, service.binary),
        "host": service.host,
        "zone": service.availability_zone or INTERNAL_ZONE,
        "status": "disabled" if service.disabled else "enabled",
        "state": "up" if service.up else "down",
        "updated_at": times.microseconds(service.last_seen_up),
        "disabled_reason": service.disabled_reason,
        "forced_down": service.forced_down,
        "armillary:cell_uuid": service.cell_uuid,
        "armillary:version": service.version,
    }


def _by_host(handler: Handler[Call], answer: Schema, body: Schema) -> Action[Call]:
    return Action(handler, policies.UPDATE, answer, body=body, until=BY_HOST_UNTIL)


ROUTES: Routes[Call] = {
    "/v2.1/os-services": {
        "GET": Action(index, policies.LIST, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY)
    },
    "/v2.1/os-services/enable": {"PUT": _by_host(enable, schemas.ENABLE_ANSWER, schemas.ENABLE)},
    "/v2.1/os-services/disable": {"PUT": _by_host(disable, schemas.ENABLE_ANSWER, schemas.ENABLE)},
    "/v2.1/os-services/disable-log-reason": {
        "PUT": _by_host(
            disable_with_reason, schemas.DISABLE_WITH_REASON_ANSWER, schemas.DISABLE_WITH_REASON
        )
    },
    "/v2.1/os-services/force-down": {
        "PUT": replace(
            _by_host(force_down, schemas.FORCE_DOWN_ANSWER, schemas.FORCE_DOWN),
            since=FORCE_DOWN_SINCE,
        )
    },
    "/v2.1/os-services/{service_id}": {
        "PUT": Action(
            update, policies.UPDATE, schemas.UPDATE_ANSWER, body=schemas.UPDATE, since=UUIDS_SINCE
        ),
        "DELETE": Action(delete, policies.DELETE, status=204),
    },
}
