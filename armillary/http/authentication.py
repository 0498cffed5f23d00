"""Authentication of requests by ``[api] auth_strategy``; sets ``req.context.caller``."""

import dataclasses
from collections.abc import Callable, Collection, Mapping

import falcon
from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.http.call import Document
from armillary.http.wsgi_middleware import UNANSWERED
from armillary.identity.accounts import with_implied_roles
from armillary.identity.builtin import BuiltInIdentity

HEADER = "X-Auth-Token"
TOKEN_CHARACTERS_MAX = 512

ADMIN = "admin"
NO_TOKEN = "notused"  # noqa: S105 - what clients send that were told to send no token
CONFIRMED = "Confirmed"


@dataclasses.dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: the sender's part of a ``RequestContext``."""

    user_id: str | None
    project_id: str | None
    roles: list[str]
    domain_id: str | None = None
    user_domain_id: str | None = None
    project_domain_id: str | None = None
    system_scope: str | None = None
    credential: str | None = None
    """Id of the token, for the audit trail."""


Authenticate = Callable[[falcon.Request], Caller | None]
"""Takes a request; returns who sent it, None if that is not proven."""


class _Authentication:
    """Raises ``Unauthorized``, and ``Forbidden`` for a token without a project if one is needed.

    ``is_admin`` decides from the context whether the caller is an administrator; None: only the
    roles count. What is a project's may not be shown to, or made by, a caller who has none: tokens
    of Keystone may be for a domain, for the system or for nothing.
    """

    def __init__(
        self,
        authenticate: Authenticate,
        *,
        is_admin: Callable[[RequestContext], bool] | None = None,
        needs_project: bool = False,
    ) -> None:
        self._authenticate = authenticate
        self._is_admin = is_admin
        self._needs_project = needs_project

    def _set_caller(self, req: falcon.Request) -> None:
        caller = self._authenticate(req)
        if caller is None:
            raise exception.Unauthorized
        sender = dataclasses.asdict(caller)
        req.context.credential = sender.pop("credential")
        context = RequestContext(
            **sender,
            request_id=req.context.request_id,
            global_request_id=req.context.global_request_id,
            overwrite=True,
        )
        if self._is_admin is not None:
            context.is_admin = self._is_admin(context)
        req.context.caller = context
        req.context.is_still_valid = lambda: self._authenticate(req) == caller
        if self._needs_project and not caller.project_id:
            raise exception.Forbidden(reason="the token is for no project; get one for a project")


class RouteAuthentication(_Authentication):
    """Middleware: a path or method needs a token unless public; an unknown path needs none."""

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: Document
    ) -> None:
        is_public = getattr(resource, "is_public", False)
        if not is_public and req.method not in getattr(resource, "public_methods", ()):
            self._set_caller(req)


class PathAuthentication(_Authentication):
    """Middleware: every path needs a token, known or not, except ``public_paths``."""

    def __init__(self, authenticate: Authenticate, *, public_paths: Collection[str]) -> None:
        super().__init__(authenticate)
        self._public_paths = frozenset(public_paths)

    def process_request(self, req: falcon.Request, resp: falcon.Response) -> None:
        if req.path not in self._public_paths:
            self._set_caller(req)


def make_authenticate(
    conf: cfg.ConfigOpts,
    *,
    trusting: Mapping[str, Authenticate],
    identity: BuiltInIdentity | None = None,
) -> Authenticate:
    """Return the function for ``[api] auth_strategy``.

    ``trusting`` are the strategies by which this API believes a request. ``identity`` is that of
    the process, if it has one. Raises ``ConfigurationError``.
    """
    strategy = conf.api.auth_strategy
    if strategy in trusting:
        return trusting[strategy]
    if strategy == "keystone":
        return of_keystone
    known = identity or BuiltInIdentity.from_conf(conf)
    return lambda req: of_built_in_identity(req, known)


def of_built_in_identity(req: falcon.Request, known: BuiltInIdentity) -> Caller | None:
    """Return the identity of a token of the token file, or of one that was issued."""
    token = token_of(req)
    holder = known.find(token) if token else None
    if holder is None:
        return None
    claims = holder.claims
    return Caller(
        claims.user_id,
        claims.project_id,
        with_implied_roles(holder.roles),
        credential=claims.audit_id,
    )


def is_anonymous(req: falcon.Request) -> bool:
    """Return whether a request has no token; clients without authentication send a word instead."""
    return req.get_header(HEADER) in (None, "", NO_TOKEN)


def of_keystone(req: falcon.Request) -> Caller | None:
    """Return the identity that keystonemiddleware, which validated the token, put into the headers.

    The middleware removes such headers of the client. Raises Unavailable if Keystone did not
    answer: a client whose token is called invalid would log in again, or log its user out.
    """
    if req.env.get(UNANSWERED):
        raise exception.Unavailable(reason="Keystone does not answer; try again later")
    if req.get_header("X-Identity-Status") != CONFIRMED:
        return None
    audit_ids = req.env.get("keystone.token_info", {}).get("token", {}).get("audit_ids", [])
    return Caller(
        user_id=req.get_header("X-User-Id"),
        project_id=req.get_header("X-Project-Id"),
        roles=listed(req.get_header("X-Roles")),
        domain_id=req.get_header("X-Domain-Id"),
        user_domain_id=req.get_header("X-User-Domain-Id"),
        project_domain_id=req.get_header("X-Project-Domain-Id"),
        system_scope=req.get_header("OpenStack-System-Scope"),
        credential=next(iter(audit_ids), None),
    )


def token_of(req: falcon.Request) -> str | None:
    """Return the token of a request, None if it has none that could be valid."""
    token = req.get_header(HEADER)
    is_usable = token and len(token) <= TOKEN_CHARACTERS_MAX and token.isprintable()
    return token if is_usable else None


def named_in(token: str | None) -> tuple[str, str] | None:
    """Return user and project of the token ``USER:PROJECT`` or ``USER``, None if it names none."""
    user, _, project = (token or "").partition(":")
    return (user, project or user) if user else None


def listed(roles: str | None) -> list[str]:
    """Return the roles in a header."""
    return [role.strip() for role in (roles or "").split(",") if role.strip()]
