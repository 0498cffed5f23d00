"""Tokens of the identity API: issue, show, validate, revoke."""

from datetime import UTC, datetime

from api.formats import times
from api.identity import login
from api.identity.call import SUBJECT_HEADER, Call
from armillary import exception
from armillary.context import RequestContext
from armillary.http.call import Answer, Document
from armillary.identity.accounts import DOMAIN_ID, DOMAIN_NAME, Project, User, with_implied_roles
from armillary.identity.builtin import FILE_AUDIT_ID, Holder

DOMAIN = {"id": DOMAIN_ID, "name": DOMAIN_NAME}


def create(call: Call) -> Answer:
    """Issue a token for a password, an application credential or another token."""
    auth = call.body["auth"]
    who = login.log_in(call, auth["identity"])
    project = login.project_of(call, who, auth.get("scope"))
    token, holder = login.issue(call.identity, who, project)
    claims = holder.claims
    call.context = RequestContext(
        user_id=claims.user_id, project_id=claims.project_id, request_id=call.context.request_id
    )
    call.subject = {"id": claims.audit_id}
    return Answer(_shown(call, holder), headers={SUBJECT_HEADER: token, "Vary": "X-Auth-Token"})


def subject(call: Call) -> Document:
    """Load the token that a request is about; return its policy target."""
    holder = call.identity.find(call.subject_token)
    if holder is None:
        raise exception.NotFound("Could not find token.")
    return {"user_id": holder.user.id, "id": holder.claims.audit_id}


def show(call: Call) -> Answer:
    """Show what a token is for."""
    headers = {SUBJECT_HEADER: call.subject_token, "Vary": "X-Auth-Token"}
    return Answer(_shown(call, _holder(call)), headers=headers)


def check(call: Call) -> Answer:
    """Answer whether a token is valid."""
    return Answer()


def revoke(call: Call) -> Answer:
    """Make a token invalid."""
    claims = _holder(call).claims
    if claims.audit_id == FILE_AUDIT_ID:
        raise exception.Forbidden("This token is in the token file: remove it there")
    call.identity.signed.revoke(claims)
    return Answer()


def catalog(call: Call) -> Answer:
    """Return the service catalogue."""
    shown = call.site.catalog.shown(call.origin, call.context.project_id)
    return Answer({"catalog": shown, "links": {"self": f"{call.root}/auth/catalog"}})


def _holder(call: Call) -> Holder:
    holder = call.identity.find(call.subject_token)
    if holder is None:
        raise exception.NotFound("Could not find token.")
    return holder


def _shown(call: Call, holder: Holder) -> Document:
    claims = holder.claims
    token: Document = {
        "methods": list(claims.methods),
        "user": _user(holder.user),
        "audit_ids": [claims.audit_id],
        "issued_at": _time(claims.issued_at),
        "expires_at": _time(claims.expires_at),
    }
    if holder.credential is not None:
        credential = holder.credential
        token["application_credential"] = {
            "id": credential.id, "name": credential.name,
            "restricted": not credential.is_unrestricted,
        }  # fmt: skip
    if holder.project is not None:
        token["project"] = _project(holder.project)
        token["is_domain"] = False
        token["roles"] = [{"id": role, "name": role} for role in with_implied_roles(holder.roles)]
        if "nocatalog" not in call.query:
            token["catalog"] = call.site.catalog.shown(call.origin, holder.project.id)
    return {"token": token}


def _user(user: User) -> Document:
    return {"id": user.id, "name": user.name, "domain": DOMAIN, "password_expires_at": None}


def _project(project: Project) -> Document:
    return {"id": project.id, "name": project.name, "domain": DOMAIN}


def _time(seconds: int) -> str:
    return f"{times.microseconds(datetime.fromtimestamp(seconds, UTC))}Z"
