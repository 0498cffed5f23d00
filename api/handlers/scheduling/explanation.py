"""Explanations: why a server is on its host, or why it has none."""

from api.call import Call
from api.formats import times
from api.formats.host_details import without_host_details
from api.handlers.servers import server
from api.handlers.servers.server_view import status_of, told_by_user
from api.policies.scheduling import explanation as policies
from api.schemas.scheduling import explanation as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Routes
from objects.instance import Instance
from objects.instances.explanation import BuildAttempt, BuildWait, Decision
from objects.instances.instance_fault import InstanceFault


def show(call: Call) -> Answer:
    """Show how a server's host was selected, and the outcome of each attempt."""
    shows_hosts = call.allows(policies.SHOW_HOSTS)
    request_id = call.query.get("request_id")
    explained = call.conductor.explain_server(
        call.context, call.path["server_id"], with_hosts=shows_hosts, decision_of=request_id
    )
    decisions = [_decision(each, shows_hosts=shows_hosts) for each in explained.decisions]
    shown = explained.decision
    told = told_by_user(explained.instance)
    explanation = {
        "server": _server(explained.instance, shows_hosts=shows_hosts),
        "decision": None if shown is None else _decision(shown, shows_hosts=shows_hosts),
        "trace": explained.trace,
        "decisions": decisions,
        "faults": [_fault(each, told, shows_hosts=shows_hosts) for each in explained.faults],
        "attempts": [_attempt(each, told, shows_hosts=shows_hosts) for each in explained.attempts],
        "wait": None if explained.wait is None else _wait(explained.wait, shows_hosts=shows_hosts),
    }
    return Answer({"explanation": explanation})


def _server(server: Instance, *, shows_hosts: bool) -> Document:
    shown = {
        "id": server.uuid,
        "name": server.name,
        "status": status_of(server),
        "attempt": server.attempt,
    }
    return {**shown, "host": server.host, "zone": server.zone} if shows_hosts else shown


def _decision(decision: Decision, *, shows_hosts: bool) -> Document:
    shown = {
        "operation": decision.operation,
        "request_id": decision.request_id,
        "decided_at": times.seconds(decision.decided_at),
        "sentence": decision.sentence,
    }
    return {**shown, "host": decision.host} if shows_hosts else shown


def _fault(fault: InstanceFault, told: list[str], *, shows_hosts: bool) -> Document:
    message = fault.message
    if not shows_hosts:
        message = without_host_details(message, [fault.host], told_by_user=told)
    shown = {
        "attempt": fault.attempt,
        "code": fault.code,
        "message": message,
        "created": times.seconds(fault.created_at),
    }
    return {**shown, "host": fault.host, "details": fault.details} if shows_hosts else shown


def _attempt(attempt: BuildAttempt, told: list[str], *, shows_hosts: bool) -> Document:
    reason = attempt.reason
    if reason is not None and not shows_hosts:
        reason = without_host_details(reason, [attempt.host], told_by_user=told)
    shown = {"attempt": attempt.attempt, "result": attempt.result, "reason": reason}
    return {**shown, "host": attempt.host} if shows_hosts else shown


def _wait(wait: BuildWait, *, shows_hosts: bool) -> Document:
    shown = {"since": times.seconds(wait.since), "message": wait.message}
    return {**shown, "cell": wait.cell, "reason": wait.reason} if shows_hosts else shown


ROUTES: Routes[Call] = {
    "/v2.1/armillary/servers/{server_id}/explain": {
        "GET": server.action(show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.SHOW_QUERY)
    }
}
