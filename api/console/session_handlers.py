"""Sessions over HTTP: show, begin and end the session of a browser."""

import hmac
from collections.abc import Mapping
from datetime import UTC, datetime

from api.console import cookie
from api.console.call import Call
from api.console.links import CODE_CHARACTERS_MAX
from api.console.password_login import PasswordLogin
from api.console.sessions import Session
from api.console.token_holders import TokenHolder
from api.formats import times
from api.policies.rules import RULES
from api.schemas.base import TEXT_MAX, fields, text
from armillary import exception
from armillary.context import RequestContext
from armillary.http.authentication import TOKEN_CHARACTERS_MAX
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes

METHODS: Mapping[str, tuple[str, ...]] = {
    "noauth": ("none",),
    "token_file": ("token", "password"),
    "keystone": ("password", "token"),
}
"""Ways to log in, by ``[api] auth_strategy``; the page offers the first one first."""
NO_STORE = {"Cache-Control": "no-store"}
PASSWORD_CHARACTERS_MAX = 512

BEGIN = fields(
    {
        "link": text(CODE_CHARACTERS_MAX, 1),
        "token": text(TOKEN_CHARACTERS_MAX, 1),
        "username": text(TEXT_MAX, 1),
        "password": text(PASSWORD_CHARACTERS_MAX),
        "project": text(TEXT_MAX, 1),
        "user_domain": text(TEXT_MAX, 1),
        "project_domain": text(TEXT_MAX, 1),
    }
)
_BY_PASSWORD = frozenset({"username", "password", "project", "user_domain", "project_domain"})


def show(call: Call) -> Answer:
    """Show the user of the session, what the policy allows, and how to log in."""
    token = None if call.session is None else call.session.token
    needs_token = call.site.strategy != "noauth"
    holder = None if needs_token and token is None else call.site.holders.find(token)
    return Answer(_shown(call, holder), headers=NO_STORE)


def begin(call: Call) -> Answer:
    """Begin a session with a one-time link, a token, or user and password."""
    _require_own(call)
    token, is_issued = _token_for(call)
    holder = call.site.holders.find(token)
    if holder is None:
        raise exception.Unauthorized("This token is not valid, or has expired")
    value, session = call.site.sessions.begin(
        token, holder.caller.user_id or "", expires_at=holder.expires_at, is_issued=is_issued
    )
    call.session = session
    _note_in_audit(call, session, holder.caller.project_id)
    seconds = max(0, session.expires_at - session.issued_at)
    header = cookie.header_of(value, max_age_seconds=seconds, is_secure=call.is_secure)
    return Answer(_shown(call, holder), headers=NO_STORE, cookie=header)


def end(call: Call) -> Answer:
    """End the session: its cookie is worth nothing from then on, also where it was copied to."""
    session = call.session
    if session is not None:
        _require_own(call)
        if not hmac.compare_digest(call.csrf_token.encode(), session.csrf_token.encode()):
            raise exception.Forbidden("The header X-CSRF-Token with the session's token is missing")
        call.site.sessions.end(session)
        _revoke(call, session.token if session.is_issued else None)
        _note_in_audit(call, session, None)
    return Answer(cookie=cookie.clearing_header(is_secure=call.is_secure))


def _note_in_audit(call: Call, session: Session, project_id: str | None) -> None:
    """Let the audit trail say whose session it is, and which."""
    call.context = RequestContext(
        user_id=session.user_id, project_id=project_id, request_id=call.context.request_id
    )
    call.subject = {"id": session.id}


def _require_own(call: Call) -> None:
    if not call.is_own:
        raise exception.Forbidden("Another page sent this request; use the console's own page")


def _token_for(call: Call) -> tuple[str, bool]:
    """Return the token of what was sent, and whether it was issued for it.

    Raises Unauthorized, Invalid, Unavailable, status 429.
    """
    given = call.body
    if set(given) == {"link"}:
        return _redeemed(call, given["link"]), False
    if set(given) == {"token"}:
        return given["token"], False
    if {"username", "password"} <= set(given) <= _BY_PASSWORD:
        if call.site.issue_token is None:
            raise exception.Unauthorized(
                "This deployment has no login with a password; use a token"
            )
        return call.site.issue_token(PasswordLogin(client=call.client, **given)), True
    raise exception.Invalid("Send link, or token, or username and password")


def _redeemed(call: Call, code: str) -> str:
    """Return the token of a link. No code can be guessed, so wrong ones keep no user waiting."""
    token = call.site.links.redeem(code)
    if token is None:
        raise exception.Unauthorized(
            "This link was opened before, or has expired; get another by: armillary console"
        )
    return token


def _revoke(call: Call, token: str | None) -> None:
    """Revoke a token of the built-in identity; another service's expires by itself."""
    identity = call.site.access.identity
    holder = None if identity is None or token is None else identity.find(token)
    if identity is not None and holder is not None:
        identity.signed.revoke(holder.claims)


def _shown(call: Call, holder: TokenHolder | None) -> Document:
    methods = list(METHODS[call.site.strategy])
    return {"methods": methods, "session": None if holder is None else _session(call, holder)}


def _session(call: Call, holder: TokenHolder) -> Document:
    context = holder.context(call.site.access)
    session = call.session
    return {
        "user": holder.user_name,
        "user_id": context.user_id,
        "project": holder.project_name,
        "project_id": context.project_id,
        "roles": sorted(context.roles),
        "is_admin": context.is_admin,
        "csrf_token": "" if session is None else session.csrf_token,
        "expires_at": None if session is None else _time(session.expires_at),
        "allowed": _allowed(call, context),
    }


def _allowed(call: Call, context: RequestContext) -> dict[str, bool]:
    """Return which rules of the API let the caller act on an object of his own."""
    own: Document = {"project_id": context.project_id, "user_id": context.user_id}
    names = [rule.name for rule in RULES]
    return call.site.access.policy.list_allowed(names, own, context)


def _time(seconds: int) -> str:
    return f"{times.seconds(datetime.fromtimestamp(seconds, UTC))}"


ROUTES: Routes[Call] = {
    "/ui/session": {
        "GET": Action(show, None),
        "POST": Action(begin, None, body=BEGIN),
        "DELETE": Action(end, None, status=204),
    }
}
