"""Request dispatch: authorise, validate, call the handler, send the response."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol

import falcon

from armillary.context import RequestContext
from armillary.http.call import Answer, CallT, Handler, Site
from armillary.http.microversion import BEGINNING, Version, entry_for, to_text
from armillary.http.ranges import projection
from armillary.http.validation import NOTHING, Schema, Versioned, by_version, invalid

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")


def own(call: Any) -> None:
    """Load nothing: the request refers to the default target of its API."""


@dataclass(frozen=True, slots=True)
class Action(Generic[CallT]):
    """One method of one path.

    ``rule`` names the policy; None makes the action public, without a token. Requests for a version
    below ``since`` are answered with ``too_old_status``, above ``until`` with 404.
    ``subject`` loads the object of the path, or returns the policy target, from the call, whose
    query is not validated yet. ``exists`` checks the object of the path between policy and
    validation, and raises ``NotFound``. ``body`` None means that no body is expected, ``answer``
    None that none is described; fields that it declares for other versions are dropped from the
    response. ``refuses_unknown_since`` is the first version in which unknown query parameters are
    an error, if it is not that of the API. With ``has_etag`` a client that names the answer's ETag
    may get status 304, without a body. ``status`` 204 promises a response without a body, whatever
    the client accepts.
    """

    handler: Handler[CallT]
    rule: str | None
    answer: Versioned | None = None
    since: Version = BEGINNING
    until: Version | None = None
    too_old_status: int = 404
    query: Versioned = field(default_factory=lambda: NOTHING)
    refuses_unknown_since: Version | None = None
    body: Versioned | None = None
    status: int = 200
    subject: Callable[[CallT], Any] = own
    exists: Callable[[CallT], object] | None = None
    media_type: str = falcon.MEDIA_JSON
    has_etag: bool = False


@dataclass(frozen=True, slots=True)
class ActionByBody(Generic[CallT]):
    """A method whose body selects one of several actions by its only field."""

    actions: Mapping[str, Action[CallT]]

    def choose(self, body: Mapping[str, Any] | None) -> str:
        """Return the name of the action in a body; raise ``Invalid`` unless it is exactly one."""
        known = ", ".join(self.actions)
        if body is None or len(body) != 1:
            raise invalid("body", body, f"Expected exactly one field: {known}")
        (name,) = body
        if name not in self.actions:
            raise invalid(name[:80], body[name], f"Unknown action: {known}")
        return name


Method = Action[CallT] | ActionByBody[CallT]
Methods = Mapping[str, Method[CallT]]
Routes = Mapping[str, Methods[CallT]]


def actions_of(method: Method[CallT]) -> list[Action[CallT]]:
    """Return the actions of a method: one, or the alternatives of a choice."""
    return list(method.actions.values()) if isinstance(method, ActionByBody) else [method]


def is_public(methods: Methods[CallT]) -> bool:
    """Return whether all actions of a path need no token."""
    return all(action.rule is None for method in methods.values() for action in actions_of(method))


class Check(Protocol):
    """A compiled schema, which raises errors in the words of its API."""

    properties: Mapping[str, Schema]

    def body(self, value: Any) -> None:
        """Raise an error unless ``value`` is valid."""

    def query(self, parameters: Any) -> Mapping[str, Any]:
        """Return the parameters in the form that handlers take; raise an error if invalid."""


def _accept_headers(req: falcon.Request, action: Any, takes_body: bool) -> None:
    """Accept any."""


def _show_all(call: Any) -> bool:
    """Show the product's extensions in every response."""
    return True


def _set_no_headers(resp: falcon.Response, version: Version, answer: Answer) -> None:
    """Set none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect(Generic[CallT]):
    """What is particular to one API between its routes and its handlers.

    The functions raise errors in the words of the API. ``read_query`` returns the parameters as
    sent; ``make_call`` takes request and fields of the call, not validated yet. ``read_body``
    returns the valid body; it gets no check if the action expects none. ``check_headers`` is told
    whether it does. ``set_headers`` sets headers that depend on the version. ``shows_own`` returns
    whether the client wants the product's extensions of responses. Query parameters that an action
    does not know are ignored until version ``ignores_unknown_until``, and of an action without any
    if it ``ignores_queries``. Unless it ``answers_options``, a path refuses OPTIONS as any other
    method that it does not have. With ``names_other_versions`` a refusal of what only other
    versions have says which.
    """

    site: Site
    make_check: Callable[[Schema], Check]
    make_call: Callable[..., CallT]
    check_path: Callable[[Mapping[str, str]], None]
    read_query: Callable[[falcon.Request], Mapping[str, Any]]
    read_body: Callable[[falcon.Request, Check | None], Any]
    check_headers: Callable[[falcon.Request, Action[CallT], bool], None] = _accept_headers
    set_headers: Callable[[falcon.Response, Version, Answer], None] = _set_no_headers
    shows_own: Callable[[CallT], bool] = _show_all
    ignores_unknown_until: Version | None = None
    ignores_queries: bool = False
    answers_options: bool = True
    names_other_versions: bool = False


class Endpoint(Generic[CallT]):
    """The resource of one path, in Falcon's form: an object with ``on_get`` and so on.

    It refuses ``removed`` methods, which earlier releases had, with 410.
    """

    def __init__(
        self, methods: Methods[CallT], dialect: Dialect[CallT], removed: Sequence[str] = ()
    ) -> None:
        self.is_public = bool(methods) and is_public(methods)
        self.public_methods = {name for name in methods if is_public({name: methods[name]})}
        allowed = list(methods)
        for name, method in methods.items():
            others = [other for other in methods if other != name]
            self._set(name, _responder(method, dialect, others))
        for name in removed:
            self._set(name, _refuse_removed)
        if not dialect.answers_options:
            for name in set(_METHODS) - set(methods):
                self._set(name, _refusal(allowed))

    def _set(self, name: str, responder: Callable[..., None]) -> None:
        setattr(self, f"on_{name.lower()}", responder)


def _refuse_removed(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
    raise falcon.HTTPGone(description="This part of the API was removed.")


def _refusal(allowed: list[str]) -> Callable[..., None]:
    def respond(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        raise falcon.HTTPMethodNotAllowed(allowed)

    return respond


def _responder(
    method: Method[CallT], dialect: Dialect[CallT], others: list[str]
) -> Callable[..., None]:
    """Return the responder of a method; ``others`` are allowed before it existed."""
    if isinstance(method, Action):
        return _ReadyAction(method, dialect, others).respond
    table = {name: _ReadyAction(action, dialect, others) for name, action in method.actions.items()}

    def respond(req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        name = req.context.action = method.choose(req.context.body)
        table[name].respond(req, resp, **path)

    return respond


class _ReadyAction(Generic[CallT]):
    """An action whose schemas are compiled at its first request, or a start would take longer."""

    def __init__(self, action: Action[CallT], dialect: Dialect[CallT], others: list[str]) -> None:
        self._action = action
        self._dialect = dialect
        self._others = others
        self._checks_for = functools.cache(  # at most one entry for each supported version
            lambda version: (entry_for(version, self._queries), entry_for(version, self._bodies))
        )
        self._projection_for = functools.cache(
            lambda version, with_own: projection(action.answer, version, with_own=with_own)
        )

    @functools.cached_property
    def _queries(self) -> dict[Version, Check | None]:
        takes_any = self._dialect.ignores_queries and self._action.query is NOTHING
        return {} if takes_any else self._compiled(self._action.query)

    @functools.cached_property
    def _bodies(self) -> dict[Version, Check | None]:
        return self._compiled(self._action.body)

    def _compiled(self, schemas: Versioned | None) -> dict[Version, Check | None]:
        make_check = self._dialect.make_check
        return {
            since: None if schema is None else make_check(schema)
            for since, schema in by_version(schemas).items()
        }

    def respond(self, req: falcon.Request, resp: falcon.Response, **path: str) -> None:
        action, dialect = self._action, self._dialect
        version: Version = req.context.version
        self._require_version(version)
        query_check, body_check = self._checks_for(version)
        dialect.check_headers(req, action, body_check is not None)
        dialect.check_path(path)
        query = dialect.read_query(req)
        call = dialect.make_call(
            req, site=dialect.site, context=_context(req), version=version, path=path, query=query
        )
        req.context.call = call
        self._authorize(call)
        if query_check is not None:
            call.query = query_check.query(self._known(query, query_check, version))
        call.body = dialect.read_body(req, body_check)
        answer = req.context.answer = self._projected(call, action.handler(call))
        _send(resp, action, answer)
        dialect.set_headers(resp, version, answer)

    def _known(self, query: Mapping[str, Any], check: Check, version: Version) -> Mapping[str, Any]:
        """Return the parameters to check: all, or those that the action knows."""
        last, first = self._dialect.ignores_unknown_until, self._action.refuses_unknown_since
        if last is None or version > last or (first is not None and version >= first):
            return query
        return {name: value for name, value in query.items() if name in check.properties}

    def _projected(self, call: CallT, answer: Answer) -> Answer:
        """Return the response with the fields of its version."""
        project = self._projection_for(call.version, self._dialect.shows_own(call))
        return answer if project is None else replace(answer, body=project(answer.body))

    def _require_version(self, version: Version) -> None:
        action = self._action
        if action.until is not None and version > action.until:
            raise falcon.HTTPNotFound(
                description=self._other_versions(version, "until", action.until)
            )
        if version >= action.since:
            return
        if action.too_old_status == 405:
            raise falcon.HTTPMethodNotAllowed(self._others)
        raise falcon.HTTPError(
            action.too_old_status, description=self._other_versions(version, "since", action.since)
        )

    def _other_versions(self, asked: Version, when: str, other: Version) -> str | None:
        """Return in which versions there is what the requested one does not have."""
        if not self._dialect.names_other_versions:
            return None
        has_not = f"Version {to_text(asked)} of this API does not have this"
        return f"{has_not}: it is there {when} {to_text(other)}."

    def _authorize(self, call: CallT) -> None:
        action = self._action
        if action.rule is not None:
            call.subject = action.subject(call)
            call.authorize(action.rule, _target(call.subject))
        if action.exists is not None:
            action.exists(call)


def _context(req: falcon.Request) -> RequestContext:
    """Return the request context; on a public path it is anonymous."""
    known: RequestContext | None = getattr(req.context, "caller", None)
    return known or RequestContext(request_id=req.context.request_id)


def _target(subject: Any) -> Mapping[str, Any] | None:
    """Return the owner of an object, as policy target."""
    if subject is None or isinstance(subject, Mapping):
        return subject
    return {"project_id": subject.project_id, "user_id": subject.user_id}


def _send(resp: falcon.Response, action: Action[Any], answer: Answer) -> None:
    resp.status = falcon.code_to_http_status(answer.status or action.status)
    for name, value in answer.headers.items():
        resp.set_header(name, value)
    if answer.cookie is not None:
        resp.append_header("Set-Cookie", answer.cookie)
    if answer.stream is not None:
        resp.stream = answer.stream
    elif answer.body is not None:
        body = answer.body
        resp.data = body if isinstance(body, bytes) else json.dumps(body).encode()
    else:
        return
    resp.content_type = action.media_type
