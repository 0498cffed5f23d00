"""External events: notices of a network service, which needs no work here."""

from api.call import Call
from api.policies.networks import external_event as policies
from api.schemas.networks import external_event as schemas
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

OF_NETWORKS = frozenset(
    {"network-changed", "network-vif-plugged", "network-vif-unplugged", "network-vif-deleted"}
)
"""Events that need no work here."""
MULTI_STATUS = 207


def create(call: Call) -> Answer:
    """Answer each event: those of networks succeed, others are refused; 404 if no server is known.

    The status is 207 if some are refused.
    """
    answered = [_answered(call, event) for event in call.body["events"]]
    codes = {event["code"] for event in answered}
    if codes == {404}:
        raise exception.NotFound(what="Each server that these events name")
    return Answer({"events": answered}, status=200 if codes == {200} else MULTI_STATUS)


def _answered(call: Call, event: Document) -> Document:
    code = _code(call, event)
    shown: Document = {
        name: event[name] for name in ("name", "server_uuid", "tag") if name in event
    }
    if code != 200:
        return {**shown, "status": "failed", "code": code}
    return {**shown, "status": event.get("status", "completed"), "code": code}


def _code(call: Call, event: Document) -> int:
    """Return 404 for an unknown server, 422 for one on no host, 400 for an unsupported event."""
    try:
        server = call.conductor.get_server(call.context, event["server_uuid"])
    except exception.InstanceNotFound:
        return 404
    if server.host is None:
        return 422
    return 200 if event["name"] in OF_NETWORKS else 400


ROUTES: Routes[Call] = {
    "/v2.1/os-server-external-events": {
        "POST": Action(create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE)
    }
}
