"""Logins with a password: at the built-in identity, or at Keystone."""

import logging
from dataclasses import dataclass
from typing import Protocol

import requests
from oslo_config import cfg

from api.access import Access
from api.identity import login
from api.identity.login_guard import LoginGuard
from armillary import exception
from armillary.http.call import Document
from armillary.identity.accounts import DOMAIN_NAME
from armillary.identity.builtin import BuiltInIdentity

LOG = logging.getLogger(__name__)

KEYSTONE_SECONDS_MAX = 10.0
_KEYSTONE_GROUP = "keystone_authtoken"


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordLogin:
    """What a user typed; without a project the default one is used."""

    username: str
    password: str
    project: str | None = None
    user_domain: str | None = None
    project_domain: str | None = None
    client: str


class IssueToken(Protocol):
    """Issues tokens for passwords."""

    def __call__(self, wanted: PasswordLogin) -> str:
        """Return a token for a project.

        Raises Unauthorized, Unavailable, and status 429 after too many failures.
        """


def issuer_of(conf: cfg.ConfigOpts, access: Access, guard: LoginGuard) -> IssueToken | None:
    """Return what issues tokens for passwords, None if nothing here does."""
    if access.identity is not None:
        return _BuiltIn(access.identity, guard)
    if conf.api.auth_strategy == "keystone":
        return _Keystone(conf, guard)
    return None


@dataclass(frozen=True, slots=True)
class _Asked:
    identity: BuiltInIdentity
    guard: LoginGuard
    client: str


class _BuiltIn:
    """Checks passwords by the code of the identity API, with its limits of failures."""

    def __init__(self, identity: BuiltInIdentity, guard: LoginGuard) -> None:
        self._identity = identity
        self._guard = guard

    def __call__(self, wanted: PasswordLogin) -> str:
        asked = _Asked(self._identity, self._guard, wanted.client)
        who = login.log_in(asked, {"methods": [login.PASSWORD], login.PASSWORD: _user(wanted)})
        project = login.project_of(asked, who, _scope(wanted))
        if project is None:
            raise exception.Unauthorized("Name one of the user's projects", user=who.user.id)
        token, _holder = login.issue(self._identity, who, project)
        return token


class _Keystone:
    """Asks Keystone for a token, with the same limits of failures."""

    def __init__(self, conf: cfg.ConfigOpts, guard: LoginGuard) -> None:
        self._conf = conf
        self._guard = guard

    def __call__(self, wanted: PasswordLogin) -> str:
        with self._guard.attempt(wanted.username, None, wanted.client):
            answer = self._ask(wanted)
            if answer.status_code == 401:
                self._guard.failed(wanted.username, None, wanted.client)
                raise exception.Unauthorized("The user, the password or the project is wrong")
            token = answer.headers.get("X-Subject-Token")
            if answer.status_code != 201 or not token:
                LOG.warning("Keystone answered a login with status %d", answer.status_code)
                raise exception.Unavailable(reason="Keystone did not issue a token")
            self._guard.succeeded(wanted.username, None, wanted.client)
        if not _has_project(answer):
            raise exception.Unauthorized("Name one of the user's projects", user=wanted.username)
        return token

    def _ask(self, wanted: PasswordLogin) -> requests.Response:
        identity = {"methods": [login.PASSWORD], login.PASSWORD: _user(wanted)}
        scope = _scope(wanted)
        auth: Document = {"identity": identity}
        if scope is not None:
            auth["scope"] = scope
        try:
            return requests.post(
                f"{self._url()}/v3/auth/tokens",
                json={"auth": auth},
                timeout=KEYSTONE_SECONDS_MAX,
                verify=self._verify(),
                allow_redirects=False,
            )
        except requests.RequestException as error:
            raise exception.Unavailable(reason=f"Keystone: {type(error).__name__}") from error

    def _url(self) -> str:
        """Return the address for users. Raises Unavailable if none is configured."""
        url = self._conf[_KEYSTONE_GROUP].www_authenticate_uri
        if not url:
            raise exception.Unavailable(reason="[keystone_authtoken] www_authenticate_uri is unset")
        return str(url).rstrip("/").removesuffix("/v3")

    def _verify(self) -> bool | str:
        options = self._conf[_KEYSTONE_GROUP]
        return False if options.insecure else options.cafile or True


def _has_project(answer: requests.Response) -> bool:
    """Return whether a token is for a project: one without is good for no request here."""
    try:
        return "project" in answer.json()["token"]
    except (ValueError, KeyError, TypeError) as error:
        raise exception.Unavailable(reason="Keystone's answer is not a token") from error


def _user(wanted: PasswordLogin) -> Document:
    domain = {"name": wanted.user_domain or DOMAIN_NAME}
    return {"user": {"name": wanted.username, "domain": domain, "password": wanted.password}}


def _scope(wanted: PasswordLogin) -> Document | None:
    if wanted.project is None:
        return None
    domain = {"name": wanted.project_domain or wanted.user_domain or DOMAIN_NAME}
    return {"project": {"name": wanted.project, "domain": domain}}
