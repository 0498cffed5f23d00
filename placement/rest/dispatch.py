"""Request dispatch: authorise, validate, call the handler, send the response."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import falcon

from armillary.context import RequestContext
from armillary.http.microversion import Version, entry_for
from armillary.http.validation import NOTHING, ByVersion
from placement.rest import errors, validation
from placement.rest.call import Answer, AppState, Call, Handler
from placement.rest.validation import Check
from placement.rest.versions import MIN

NO_QUERY: ByVersion = {MIN: NOTHING}

CACHE_HEADERS_SINCE: Version = (1, 15)

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")
_ACCEPT_ALL = frozenset({"", "*/*", falcon.MEDIA_JSON})


@dataclass(frozen=True, slots=True)
class Action:
    """One method of one path.

    ``rule`` names the policy; None makes the action public, without a token. Requests for a version
    below ``since`` are answered with ``too_old_status``. ``body`` None ignores the body. ``target``
    returns the policy target from the call, whose query is not validated yet. ``exists`` checks the
    object of the path before query and body are validated, and raises ``NotFound``. ``status`` 204
    promises a response without a body, whatever the client accepts.
    """

    handler: Handler
    rule: str | None
    since: Version = MIN
    too_old_status: int = 404
    query: ByVersion = field(default_factory=lambda: NO_QUERY)
    body: ByVersion | None = None
    status: int = 200
    target: Callable[[Call], Mapping[str, Any]] | None = None
    exists: Callable[[Call], object] | None = None


Methods = Mapping[str, Action]
Routes = Mapping[str, Methods]


class Endpoint:
    """The resource of one path, in Falcon's form: an object with ``on_get`` and so on."""

    def __init__(self, methods: Methods, site: AppState) -> None:
        allowed = list(methods)
        for name in _METHODS:
            if name in methods:
                responder = _ReadyAction(methods[name], site, allowed).respond
            else:
                responder = _refusal(allowed)
            setattr(self, f"on_{name.lower()}", responder)


def _refusal(allowed: list[str]) -> Callable[..., None]:
    def respond(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        raise falcon.HTTPMethodNotAllowed(allowed)

    return respond


class _ReadyAction:
    """An action with compiled schemas."""

    def __init__(self, action: Action, site: AppState, allowed: list[str]) -> None:
        self._action = action
        self._site = site
        self._allowed = allowed
        self._queries = _checks(action.query)
        self._bodies = _checks(action.body or {})

    def respond(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        action = self._action
        version: Version = req.context.version
        self._require_version(version)
        if action.status != 204 and action.rule is not None:
            _require_json_accepted(req)
        body_check = entry_for(version, self._bodies)
        if body_check is not None:
            _require_json_sent(req)
        validation.check_path(path)
        query = validation.parse_query(req.query_string)
        self._authorize_and_validate(self._call(req, path, query, None))
        query_check = entry_for(version, self._queries)
        if query_check is not None:
            query_check.query(query)
        body = None
        if body_check is not None:
            body = validation.parse_body(_read(req))
            body_check.body(body)
        answer = action.handler(self._call(req, path, query, body))
        _send(resp, version, answer.status or action.status, answer)

    def _require_version(self, version: Version) -> None:
        if version >= self._action.since:
            return
        if self._action.too_old_status == 405:
            raise falcon.HTTPMethodNotAllowed(self._allowed)
        raise falcon.HTTPError(self._action.too_old_status)

    def _authorize_and_validate(self, call: Call) -> None:
        action = self._action
        if action.rule is not None:
            call.authorize(action.rule, action.target(call) if action.target else None)
        if action.exists is not None:
            action.exists(call)

    def _call(
        self,
        req: falcon.Request,
        path: Mapping[str, str],
        query: Mapping[str, list[str]],
        body: Any,
    ) -> Call:
        origin = f"{req.scheme}://{req.netloc}"
        return Call(
            self._site, _context(req), req.context.version, path, query, body, req.root_path, origin
        )


def _checks(schemas: ByVersion) -> dict[Version, Check | None]:
    return {since: None if schema is None else Check(schema) for since, schema in schemas.items()}


def _context(req: falcon.Request) -> RequestContext:
    """Return the request context; on a public path it is anonymous."""
    known: RequestContext | None = getattr(req.context, "caller", None)
    return known or RequestContext(request_id=req.context.request_id)


def _require_json_accepted(req: falcon.Request) -> None:
    accept = req.accept
    if accept not in _ACCEPT_ALL and not req.client_accepts(falcon.MEDIA_JSON):
        raise falcon.HTTPNotAcceptable(description=f"Only {falcon.MEDIA_JSON} is provided")


def _require_json_sent(req: falcon.Request) -> None:
    media_type = req.content_type and req.content_type.partition(";")[0].strip().lower()
    if media_type != falcon.MEDIA_JSON:
        raise falcon.HTTPUnsupportedMediaType(
            description=f"The media type {req.content_type} is not supported, "
            f"use {falcon.MEDIA_JSON}"
        )


def _read(req: falcon.Request) -> bytes:
    """Return the body; a truncated body may be valid JSON, but not what the client meant."""
    raw: bytes = req.bounded_stream.read()
    if len(raw) < (req.content_length or 0):
        raise errors.bad_request(f"The body ended after {len(raw)} of {req.content_length} bytes")
    return raw


def _send(resp: falcon.Response, version: Version, status: int, answer: Answer) -> None:
    resp.status = falcon.code_to_http_status(status)
    for name, value in answer.headers.items():
        resp.set_header(name, value)
    if answer.last_modified is not None and version >= CACHE_HEADERS_SINCE:
        resp.last_modified = answer.last_modified
        resp.set_header("Cache-Control", "no-cache")
    body = answer.body
    if body is None:
        return
    resp.content_type = falcon.MEDIA_JSON
    if isinstance(body, Iterator):
        resp.stream = body
    else:
        resp.data = body if isinstance(body, bytes) else json.dumps(body).encode()
