"""Application credentials of users: create, list, show, delete."""

import secrets
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from api.formats import times
from api.identity import accounts
from api.identity.call import Call
from armillary import exception
from armillary import times as clock_times
from armillary.http.call import Answer, Document
from armillary.http.validation import invalid
from armillary.identity import passwords
from armillary.identity.accounts import with_implied_roles
from armillary.identity.application_credentials import ApplicationCredential
from armillary.identity.builtin import Holder

_SECRET_BYTES = 64


def create(call: Call) -> Answer:
    """Create a credential for the project of the caller's token; only this answer has its secret.

    Without a secret one is made up; without roles it has those of the token.
    """
    wanted = call.body["application_credential"]
    holder = _unrestricted_holder(call)
    if holder.project is None:
        raise exception.Forbidden(reason="the token is for no project; get one for a project")
    user_id, secret = holder.user.id, wanted.get("secret") or secrets.token_urlsafe(_SECRET_BYTES)
    with call.guard.attempt(user_id, user_id, call.client):  # as many hashes as for logins
        hashed = passwords.hash_password(secret)
    credential = ApplicationCredential(
        id=uuid.uuid4().hex,
        name=wanted["name"],
        user_id=user_id,
        project_id=holder.project.id,
        secret=hashed,
        roles=_roles(wanted.get("roles"), holder),
        expires_at=_expiry(wanted.get("expires_at")),
        description=wanted.get("description"),
        is_unrestricted=bool(wanted.get("unrestricted")),
    )
    if call.identity.is_expired(credential):
        raise invalid("expires_at", wanted["expires_at"], "It must be a time to come")
    call.identity.stored.add_credential(credential)
    return Answer({"application_credential": {**_document(call, credential), "secret": secret}})


def index(call: Call) -> Answer:
    """List the credentials of a user, or the one with a name."""
    name = call.query.get("name")
    found = [
        _document(call, each)
        for each in call.identity.stored.credentials().values()
        if each.user_id == call.path["user_id"] and name in (None, each.name)
    ]
    return Answer(accounts.listed(call, "application_credentials", found))


def show(call: Call) -> Answer:
    """Show a credential without its secret."""
    return Answer({"application_credential": _document(call, _of_path(call))})


def delete(call: Call) -> Answer:
    """Delete a credential; the tokens that were got with it end."""
    _unrestricted_holder(call)
    call.identity.stored.remove_credential(_of_path(call).id)
    return Answer()


def _of_path(call: Call) -> ApplicationCredential:
    wanted = call.path["credential_id"]
    found = call.identity.stored.credentials().get(wanted)
    if found is None or found.user_id != call.path["user_id"]:
        raise exception.AccountNotFound(kind="application credential", account=wanted)
    return found


def _unrestricted_holder(call: Call) -> Holder:
    """Return who holds the caller's token. Raises Forbidden: it may change no credentials.

    Or who finds a limited token could keep what it allows after its end.
    """
    holder = call.identity.find(call.token)
    if holder is None:
        raise exception.Unauthorized
    if holder.listed is not None:
        raise exception.Forbidden(
            reason="tokens of the token file change no application credentials; log in by password"
        )
    if holder.credential is not None and not holder.credential.is_unrestricted:
        raise exception.Forbidden(
            reason=f"the application credential {holder.credential.name} is restricted: it changes "
            "no application credentials"
        )
    return holder


def _roles(wanted: list[Mapping[str, str]] | None, holder: Holder) -> tuple[str, ...]:
    """Return the roles of a new credential. Raises Invalid for one that the token does not have."""
    if not wanted:
        return holder.roles
    held = with_implied_roles(holder.roles)
    names = tuple(dict.fromkeys(each.get("id") or each.get("name") or "" for each in wanted))
    for name in names:
        if name not in held:
            raise invalid("roles", name, f"The token has only the roles {', '.join(held)}")
    return names


def _expiry(text: str | None) -> int | None:
    """Return a time in seconds since 1970. Raises Invalid."""
    if text is None:
        return None
    try:
        return int(clock_times.parse(text).astimezone(UTC).timestamp())
    except (ValueError, OverflowError) as error:  # in UTC it may be after year 9999
        reason = "It must be a time such as 2030-01-31T12:00:00"
        raise invalid("expires_at", text, reason) from error


def _document(call: Call, credential: ApplicationCredential) -> Document:
    user_id, expires_at = credential.user_id, credential.expires_at
    place = f"{call.root}/users/{user_id}/application_credentials/{credential.id}"
    roles: list[dict[str, Any]] = [
        {"id": role, "name": role, "domain_id": None} for role in credential.roles
    ]
    return {
        "id": credential.id, "name": credential.name, "description": credential.description,
        "user_id": user_id, "project_id": credential.project_id, "roles": roles,
        "expires_at": times.microseconds(_moment(expires_at)), "system": None,
        "unrestricted": credential.is_unrestricted, "links": {"self": place},
    }  # fmt: skip


def _moment(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
