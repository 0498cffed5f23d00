"""Dry runs: where servers would be placed, without building them."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from api.call import Call
from api.handlers.servers import server_request
from api.policies.scheduling import dry_run as dry_run_policies
from api.policies.scheduling import explanation as policies
from api.schemas.scheduling import dry_run as schemas
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects.instances.new_servers import DryRunRequest

SERVER = "server"
SPEC = "request_spec"
DEPTH_MAX = 20
"""Maximum nesting of lists and objects in a request spec."""

_NAME = "dry-run"


def create(call: Call) -> Answer:
    """Show where servers would be placed now, and why; nothing is claimed."""
    request = _request(call)
    try:
        if request.servers is not None:
            request = DryRunRequest(servers=server_request.with_image(call, request.servers))
        found = call.conductor.dry_run(
            call.context, request, with_hosts=call.allows(policies.SHOW_HOSTS)
        )
    except tuple(server_request.REFERENCES) as error:
        if SERVER in call.body:
            raise server_request.unknown_reference(error, call.body) from error
        raise invalid(SPEC, call.body[SPEC], error.message) from error
    return Answer({"dry_run": dataclasses.asdict(found)})


def _request(call: Call) -> DryRunRequest:
    """Return the request in the super conductor's format."""
    body = call.body
    if (SERVER in body) == (SPEC in body):
        raise invalid("body", sorted(body), f"Either {SERVER} or {SPEC} is required")
    if SERVER in body:
        server_request.authorize_targets(call, body[SERVER])
        named = {**body, SERVER: {"name": _NAME, **body[SERVER]}}
        return DryRunRequest(servers=server_request.request_of(named))
    if set(body) != {SPEC}:
        raise invalid("body", sorted(body), f"With {SPEC}, put hints into its scheduler_hints")
    _check_depth(body[SPEC])
    return DryRunRequest(request_spec=body[SPEC])


def _check_depth(spec: Mapping[str, Any]) -> None:
    level: list[Any] = [spec]
    for _ in range(DEPTH_MAX):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise invalid(SPEC, spec, f"It is nested deeper than {DEPTH_MAX} levels")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return value if isinstance(value, list) else []


ROUTES: Routes[Call] = {
    "/v2.1/armillary/dry-run": {
        "POST": Action(create, dry_run_policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE)
    }
}
