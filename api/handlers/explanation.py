"""Explanations: why a server is where it is, or why it is nowhere."""

from __future__ import annotations

from typing import Any

from api import times
from api.call import Answer, Call
from api.handlers.server import status_of
from api.policies import explanation as policies
from objects.instance import Instance
from objects.instance_fault import InstanceFault


def show(call: Call) -> Answer:
    """Show how it was decided where a server goes, and how each attempt went."""
    shows_hosts = call.allows(policies.SHOW_HOSTS)
    explained = call.conductor.explain_server(
        call.context, call.path["server_id"], with_hosts=shows_hosts
    )
    explanation = {
        "server": _server(explained["instance"], shows_hosts=shows_hosts),
        "trace": explained["trace"],
        "faults": [_fault(fault, shows_hosts=shows_hosts) for fault in explained["faults"]],
        "attempts": [_attempt(item, shows_hosts=shows_hosts) for item in explained["attempts"]],
    }
    return Answer({"explanation": explanation})


def _server(server: Instance, *, shows_hosts: bool) -> dict[str, Any]:
    shown = {
        "id": server.uuid,
        "name": server.name,
        "status": status_of(server),
        "attempt": server.attempt,
    }
    return {**shown, "host": server.host} if shows_hosts else shown


def _fault(fault: InstanceFault, *, shows_hosts: bool) -> dict[str, Any]:
    shown = {
        "attempt": fault.attempt,
        "code": fault.code,
        "message": fault.message,
        "created": times.seconds(fault.created_at),
    }
    return {**shown, "host": fault.host, "details": fault.details} if shows_hosts else shown


def _attempt(attempt: dict[str, Any], *, shows_hosts: bool) -> dict[str, Any]:
    shown = {name: attempt[name] for name in ("attempt", "result", "reason")}
    return {**shown, "host": attempt["host"]} if shows_hosts else shown
