"""Requests that are forwarded to another zone: their arguments and answers in wire form.

A forwarded request is named after the method of ``SuperConductorAPI`` that a user called, and takes
its arguments and answers.
"""

from functools import partial
from typing import Any

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.instances.server_answers import InstanceMarker, ServerPage
from objects.instances.server_filters import ServerFilters
from objects.zones.zone_request import ZoneRequest
from rpc.interface import Interface, Method, call
from rpc.wire.serializer import ObjectSerializer

LIST_SERVERS = "list_servers"
CHANGES = frozenset(
    {
        "operate_server",
        "soft_delete",
        "set_admin_password",
        "trigger_crash_dump",
        "abort_migration",
        "force_migration",
        "record_refusal",
        "create_claim",
        "delete_claim",
    }
)
"""Requests that change something; each zone on the way answers a repeat from its record."""

_rebuild = partial(ObjectSerializer().rebuild, None)


class _Forwarded(Interface):
    """Requests that differ from the method of the same name."""

    @call()
    def list_servers(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None,
        for_display: bool = False,
    ) -> ServerPage:
        """Return a page of the instances built for the caller's users."""

    @call()
    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        """Record why an operation that the origin accepted was refused here."""

    @call()
    def soft_delete(self, context: RequestContext, instance_uuid: str) -> bool:
        """Soft-delete a server; return whether its zone supports that."""


def request_for(name: str, instance_uuid: str | None = None, **arguments: object) -> ZoneRequest:
    """Return the request that calls a method with these arguments."""
    return ZoneRequest(name, _declared(name).encode(arguments), instance_uuid)


def changes(request: ZoneRequest) -> bool:
    """Return whether a request changes something."""
    return request.operation in CHANGES


def decode_arguments(request: ZoneRequest) -> dict[str, Any]:
    """Return the arguments of a request. Raises Invalid."""
    return _declared(request.operation).decode(dict(request.arguments), _rebuild)


def encode_answer(name: str, answer: Any) -> Any:
    """Return an answer in wire form."""
    return _declared(name).encode_answer(answer)


def decode_answer(name: str, answer: Any) -> Any:
    """Return an answer from its wire form. Raises RpcFailed for a wrong one."""
    try:
        return _declared(name).decode_answer(answer, _rebuild)
    except exception.Invalid as error:
        raise exception.RpcFailed(
            method=name, topic="zone", reason=f"wrong answer: {error}"
        ) from error


def _declared(name: str) -> Method:
    return _Forwarded.METHODS.get(name) or SuperConductorAPI.METHODS[name]
