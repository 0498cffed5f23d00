"""Audit of HTTP requests: those that change something, and those that are refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from armillary import exception
from armillary.audit import FAILED, REFUSED, SUCCESS, UNKNOWN, AuditTrail, Event, Initiator
from armillary.context import RequestContext

if TYPE_CHECKING:  # services without an API check the Host header alone
    import falcon

READING = frozenset({"GET", "HEAD", "OPTIONS"})
REFUSALS = frozenset({401, 403, 429})
AUTHENTICATE = "authenticate"
USER = "service/security/account/user"

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "update", "DELETE": "delete"}
_VERSION = re.compile(r"v\d+(\.\d+)?").fullmatch


class Audit:
    """Middleware: records requests when they are answered, after :class:`RequestId`.

    ``service`` is the CADF name of the API, such as ``compute``. A POST to one of ``logins`` is
    called an authentication.
    """

    def __init__(self, trail: AuditTrail, service: str, *, logins: tuple[str, ...] = ()) -> None:
        self._trail = trail
        self._service = service
        self._logins = logins

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        if not self._trail.is_on:
            return
        if req.method not in READING or resp.status_code in REFUSALS:
            self._trail.record(self._event(req, resp.status_code))

    def _event(self, req: falcon.Request, status: int) -> Event:
        known = vars(req.context)
        call, error = known.get("call"), known.get("error")
        template = req.uri_template
        is_login = req.method == "POST" and template in self._logins
        body = None if call is None or is_login else call.body
        return Event(
            action=AUTHENTICATE if is_login else action_of(req.method, known.get("action")),
            outcome=_outcome(status),
            initiator=_initiator(req),
            target_kind="/".join([self._service, *_nouns(template)]),
            target_id=_target_id(call, known.get("answer")),
            reason=None if error is None else type(error).__name__,
            status=status,
            rule=_kwargs(error).get("rule"),
            path=req.path,
            fields=list(_field_names(body)),
            request_id=known.get("request_id"),
            global_request_id=known.get("global_request_id"),
        )


def action_of(method: str, of_body: str | None = None) -> str:
    """Return the CADF action: a verb, and the action that the body names, if any."""
    if of_body is not None:
        return f"update/{of_body}"
    return "read" if method in READING else _VERBS.get(method, "unknown")


def _outcome(status: int) -> str:
    if status < 400:
        return SUCCESS
    if status in REFUSALS:
        return REFUSED
    return UNKNOWN if status == 504 else FAILED


def _initiator(req: falcon.Request) -> Initiator:
    """Return who sent a request: who proved it, else the user whose login failed."""
    known = vars(req.context)
    call = known.get("call")
    context: RequestContext | None = known.get("caller") if call is None else call.context
    user_id = None if context is None else context.user_id
    return Initiator(
        kind=USER,
        id=user_id or _kwargs(known.get("error")).get("user"),
        project_id=None if context is None else context.project_id,
        credential=known.get("credential"),
        address=req.remote_addr,
    )


def _nouns(template: str | None) -> Iterator[str]:
    """Yield the fixed parts of a path; those of an unknown path are the client's words."""
    for part in (template or "/unknown").split("/"):
        if part and part != "action" and not part.startswith("{") and not _VERSION(part):
            yield part


def _target_id(call: Any, answer: Any) -> str | None:
    """Return the id in the path, else that of what was created, or of what was loaded."""
    if call is None:
        return None
    if call.path:
        return str(list(call.path.values())[-1])
    shown = None if answer is None else answer.body
    for found in (shown, _only_value(shown), call.subject):
        if isinstance(found, Mapping):
            for name in ("id", "uuid"):
                if isinstance(found.get(name), str | int):
                    return str(found[name])
    return None


def _field_names(body: Any) -> Iterator[str]:
    """Yield the names of a body's fields, inside of the object that it wraps, if it does."""
    if not isinstance(body, Mapping):
        return
    inner = _only_value(body)
    if isinstance(inner, Mapping) and inner:
        (outer,) = body
        yield from (f"{outer}.{name}" for name in inner)
    else:
        yield from map(str, body)


def _only_value(found: Any) -> Any:
    is_wrapper = isinstance(found, Mapping) and len(found) == 1
    return next(iter(found.values())) if is_wrapper else None


def _kwargs(error: object) -> Mapping[str, Any]:
    """Return the facts of an error of ours."""
    return error.kwargs if isinstance(error, exception.ArmillaryError) else {}
