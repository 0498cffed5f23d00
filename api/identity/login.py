"""Login: who sends a request for a token, and for which project it is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from api.identity.login_guard import LoginGuard
from armillary import exception
from armillary.http.authentication import TOKEN_CHARACTERS_MAX
from armillary.identity import passwords
from armillary.identity.accounts import DOMAIN_ID, DOMAIN_NAME, Accounts, Project, User
from armillary.identity.application_credentials import ApplicationCredential
from armillary.identity.builtin import BuiltInIdentity, Holder, password_mark

PASSWORD, TOKEN, CREDENTIAL = "password", "token", "application_credential"


class LoginRequest(Protocol):
    """What a login needs of a request; ``client`` is the address of its sender, or its network."""

    @property
    def identity(self) -> BuiltInIdentity: ...

    @property
    def guard(self) -> LoginGuard: ...

    @property
    def client(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Login:
    """A user who is who the request says.

    ``mark`` is what the new token ends with, ``not_after`` when it expires at the latest, in
    seconds since 1970. It is for ``default_project_id`` unless the request says otherwise. A token
    of the file and an application credential are for ``only_project_id``, and so is what is got
    with them.
    """

    user: User
    methods: tuple[str, ...]
    mark: str
    default_project_id: str | None
    only_project_id: str | None = None
    not_after: int | None = None


def log_in(call: LoginRequest, identity: Mapping[str, Any]) -> Login:
    """Return who asks for a token. Raises Unauthorized, Invalid, status 429."""
    methods = identity["methods"]
    if methods == [TOKEN]:
        return _by_token(call, _given(identity, TOKEN)["id"])
    if methods == [PASSWORD]:
        return _by_password(call, _given(identity, PASSWORD)["user"])
    if methods == [CREDENTIAL]:
        return _by_credential(call, _given(identity, CREDENTIAL))
    supported = f"{PASSWORD}, {TOKEN} or {CREDENTIAL}"
    raise exception.Unauthorized(
        f"The method {', '.join(methods)} is not supported: use {supported}"
    )


def project_of(call: LoginRequest, login: Login, scope: Any) -> Project | None:
    """Return the project that the token is for; None for a token without a project.

    Without a scope it is the project of what it is got with, or the user's default.
    Raises Unauthorized if the user has no role in it.
    """
    if scope == "unscoped":
        return None
    accounts = call.identity.accounts()
    if scope is None:
        return accounts.projects.get(login.default_project_id or "")
    wanted = scope.get("project")
    if wanted is None:
        raise exception.Unauthorized("Tokens are for a project here, not for a domain or system")
    project = _find_project(accounts, wanted)
    if project is not None and login.only_project_id not in (None, project.id):
        raise exception.Unauthorized(
            "A token of the token file and an application credential are for their project alone: "
            f"{login.only_project_id}",
            user=login.user.id,
        )
    if project is None or not project.is_enabled or project.id not in login.user.roles:
        raise exception.Unauthorized(
            "The user has no role in this project, or it does not exist or is disabled",
            user=login.user.id,
        )
    return project


def issue(identity: BuiltInIdentity, login: Login, project: Project | None) -> tuple[str, Holder]:
    """Return a new token and its holder. Raises Unauthorized, OSError."""
    token, _claims = identity.signed.issue(
        login.user.id,
        None if project is None else project.id,
        expires_at=identity.expiry(login.not_after),
        methods=login.methods,
        mark=login.mark,
    )
    if len(token) > TOKEN_CHARACTERS_MAX:
        raise exception.Unauthorized("The ids of user and project are too long for a token")
    holder = identity.find(token)
    if holder is None:
        raise exception.Unauthorized("The project is disabled", user=login.user.id)
    return token, holder


def is_our_domain(domain: Mapping[str, str] | None) -> bool:
    """Return whether a reference is to the only domain."""
    if not domain:
        return False
    return domain.get("id", DOMAIN_ID) == DOMAIN_ID and domain.get("name", DOMAIN_NAME) in (
        DOMAIN_NAME, DOMAIN_ID,
    )  # fmt: skip


def _by_token(call: LoginRequest, token: str) -> Login:
    holder = call.identity.find(token)
    if holder is None:
        raise exception.Unauthorized
    claims = holder.claims
    return Login(
        holder.user,
        tuple(dict.fromkeys((*claims.methods, TOKEN))),
        claims.mark,
        claims.project_id,
        holder.only_project_id,
        claims.expires_at,
    )


def _by_password(call: LoginRequest, wanted: Mapping[str, Any]) -> Login:
    """Check a password. An unknown user takes as long as a wrong password, and fails alike."""
    accounts = call.identity.accounts()
    user = _find_user(accounts, wanted)
    given = str(wanted.get("id") or wanted.get("name") or "")
    user_id, line = (None, None) if user is None else (user.id, user.password)
    guard = call.guard
    with guard.attempt(given, user_id, call.client):
        hash_of_none = accounts.hash_for_unknown(given)  # which takes time for each user, too
        is_right = passwords.is_right(wanted["password"], line or hash_of_none)
        if user is None or line is None or not is_right or not user.is_enabled:
            guard.failed(given, user_id, call.client)
            raise exception.Unauthorized("The user or the password is wrong", user=user_id)
        guard.succeeded(given, user.id, call.client)
    return Login(user, (PASSWORD,), password_mark(user), user.default_project_id)


def _by_credential(call: LoginRequest, wanted: Mapping[str, Any]) -> Login:
    """Check the secret of an application credential; an unknown one takes as long to refuse.

    Wrong secrets make the user's other ways to log in wait no longer.
    """
    found = _find_credential(call.identity, wanted)
    user = None if found is None else call.identity.accounts().users.get(found.user_id)
    given = str(wanted.get("id") or wanted.get("name") or "")
    found_id, line = (None, None) if found is None else (found.id, found.secret)
    guard = call.guard
    with guard.attempt(given, found_id, call.client):
        is_right = passwords.is_right(wanted["secret"], line or passwords.hash_of_no_password())
        if found is None or user is None or not is_right or not user.is_enabled:
            guard.failed(given, found_id, call.client)
            raise exception.Unauthorized(
                "The application credential or its secret is wrong",
                user=None if user is None else user.id,
            )
        guard.succeeded(given, found_id, call.client)
    if call.identity.is_expired(found):
        reason = f"The application credential {found.name} has expired"
        raise exception.Unauthorized(reason, user=user.id)
    if not found.roles_of(user):
        reason = f"The user has none of the roles of the application credential {found.name}"
        raise exception.Unauthorized(reason, user=user.id)
    project_id = found.project_id
    return Login(user, (CREDENTIAL,), found.mark, project_id, project_id, found.expires_at)


def _find_credential(
    identity: BuiltInIdentity, wanted: Mapping[str, Any]
) -> ApplicationCredential | None:
    """Return the credential with an id, or that of a user with a name."""
    credentials = identity.stored.credentials()
    if "id" in wanted:
        return credentials.get(wanted["id"])
    user = _find_user(identity.accounts(), wanted.get("user", {}))
    if user is None:
        return None
    name = wanted.get("name")
    return next(
        (each for each in credentials.values() if (each.user_id, each.name) == (user.id, name)),
        None,
    )


def _find_user(accounts: Accounts, wanted: Mapping[str, Any]) -> User | None:
    if "id" in wanted:
        return accounts.find_user(id=wanted["id"])
    is_ours = is_our_domain(wanted.get("domain"))
    return accounts.find_user(name=wanted.get("name", "")) if is_ours else None


def _find_project(accounts: Accounts, wanted: Mapping[str, Any]) -> Project | None:
    if "id" in wanted:
        return accounts.find_project(id=wanted["id"])
    is_ours = is_our_domain(wanted.get("domain"))
    return accounts.find_project(name=wanted.get("name", "")) if is_ours else None


def _given(identity: Mapping[str, Any], method: str) -> Any:
    if method not in identity:
        raise exception.Invalid(f"auth.identity.{method} is missing")
    return identity[method]
