"""Request dispatch: authorise, validate, call the handler, send the response."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import falcon

from api import validation
from api.call import Answer, AppState, Call, Handler
from api.links import Links
from api.validation import Check
from armillary import exception
from armillary.context import RequestContext
from armillary.http.validation import NOTHING, Schema, invalid


def own(call: Call) -> None:
    """Load nothing: the request refers to the caller's own project."""


@dataclass(frozen=True, slots=True)
class Action:
    """One method of one path.

    ``rule`` names the policy; None makes the action public, without a token. ``subject`` loads the
    object of the path, if the policy needs its project. ``body`` None means that no body is
    accepted, ``answer`` None that none is sent.
    """

    handler: Handler
    rule: str | None
    answer: Schema | None = None
    query: Schema = field(default_factory=lambda: NOTHING)
    body: Schema | None = None
    status: int = 200
    subject: Callable[[Call], Any] = own
    media_type: str = falcon.MEDIA_JSON


@dataclass(frozen=True, slots=True)
class Choice:
    """A method whose body selects one of several actions by its only field."""

    actions: Mapping[str, Action]

    def choose(self, body: Mapping[str, Any] | None) -> str:
        """Return the name of the action in a body; raise ``Invalid`` unless it is exactly one."""
        known = ", ".join(self.actions)
        if body is None or len(body) != 1:
            raise invalid("body", body, f"Expected exactly one field: {known}")
        (name,) = body
        if name not in self.actions:
            raise invalid(name[:80], body[name], f"Unknown action: {known}")
        return name


Method = Action | Choice
Routes = Mapping[str, Mapping[str, Method]]


def actions_of(method: Method) -> list[Action]:
    """Return the actions of a method: one, or the alternatives of a choice."""
    return list(method.actions.values()) if isinstance(method, Choice) else [method]


class Endpoint:
    """The resource of one path, in Falcon's form: an object with ``on_get`` and so on."""

    def __init__(self, methods: Mapping[str, Method], site: AppState) -> None:
        actions = [action for method in methods.values() for action in actions_of(method)]
        self.is_public = all(action.rule is None for action in actions)
        for name, method in methods.items():
            setattr(self, f"on_{name.lower()}", _responder(method, site))


def _responder(method: Method, site: AppState) -> Callable[..., None]:
    if isinstance(method, Action):
        ready = _ReadyAction(method, site)
        return lambda req, resp, **path: ready.respond(req, resp, path)
    table = {name: _ReadyAction(action, site) for name, action in method.actions.items()}
    return lambda req, resp, **path: table[method.choose(req.context.body)].respond(req, resp, path)


class _ReadyAction:
    """An action with compiled schemas."""

    def __init__(self, action: Action, site: AppState) -> None:
        self._action = action
        self._site = site
        self._query = Check(action.query)
        self._body = None if action.body is None else Check(action.body)

    def respond(self, req: falcon.Request, resp: falcon.Response, path: dict[str, str]) -> None:
        validation.check_path(path)
        subject = self._authorized_subject(self._call(req, path))
        query = self._query.query(req.params)
        body = self._checked_body(req.context.body)
        answer = self._action.handler(self._call(req, path, query, body, subject))
        _send(resp, self._action, answer)

    def _authorized_subject(self, call: Call) -> Any:
        if self._action.rule is None:
            return None
        subject = self._action.subject(call)
        call.authorize(self._action.rule, _target(subject))
        return subject

    def _checked_body(self, body: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if self._body is not None:
            self._body.body({} if body is None else body)
        elif body is not None:
            raise exception.Invalid("This request does not accept a body.")
        return body or {}

    def _call(
        self,
        req: falcon.Request,
        path: Mapping[str, str],
        query: Mapping[str, Any] | None = None,
        body: Mapping[str, Any] | None = None,
        subject: Any = None,
    ) -> Call:
        links = Links(self._site.link_prefix or req.prefix, req.path, req.params)
        return Call(self._site, _context(req), links, path, query or {}, body or {}, subject)


def _context(req: falcon.Request) -> RequestContext:
    """Return the request context; on a public path it is anonymous."""
    known: RequestContext | None = getattr(req.context, "caller", None)
    return known or RequestContext(request_id=req.context.request_id)


def _target(subject: Any) -> Mapping[str, Any] | None:
    """Return the owner of an object, as policy target."""
    if subject is None or isinstance(subject, Mapping):
        return subject
    return {"project_id": subject.project_id, "user_id": subject.user_id}


def _send(resp: falcon.Response, action: Action, answer: Answer) -> None:
    resp.status = falcon.code_to_http_status(action.status)
    for name, value in answer.headers.items():
        resp.set_header(name, value)
    if answer.body is not None:
        resp.data = json.dumps(answer.body).encode()
        resp.content_type = action.media_type
    elif answer.stream is not None:
        resp.stream = answer.stream
        resp.content_type = action.media_type
