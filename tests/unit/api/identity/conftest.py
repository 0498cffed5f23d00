"""An API with accounts in a token file, and its clock-free client."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from armillary.identity import passwords
from tests.fixtures.super_conductor import SuperConductorClient

PASSWORD = "correct horse"

Client = testing.TestClient
WriteAccounts = Callable[..., None]


@pytest.fixture(scope="session")
def password_line() -> str:
    """Return the hash of the password of all users: a cheap one."""
    return passwords.hash_password(PASSWORD, n=16)


@pytest.fixture
def write_accounts(tmp_path: Path, password_line: str) -> WriteAccounts:
    """Return a function that replaces the token file; arguments change the user alice."""

    def write(*, tokens: Sequence[dict[str, Any]] = (), **changes: Any) -> None:
        alice = {
            "name": "alice",
            "password": password_line,
            "projects": {"stars": ["member"], "moons": ["reader"]},
            "default_project": "stars",
            **changes,
        }
        root = {"name": "root", "password": password_line, "projects": {"ops": ["admin"]}}
        fresh = tmp_path / "tokens.new"
        fresh.write_text(yaml.safe_dump({"users": [alice, root], "tokens": [*tokens]}))
        fresh.replace(tmp_path / "tokens.yaml")

    write()
    return write


@pytest.fixture
def web(
    conf: cfg.ConfigOpts,
    client: SuperConductorClient,
    write_accounts: WriteAccounts,
    tmp_path: Path,
) -> Client:
    """Return a client of all APIs of one process."""
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(tmp_path / "tokens.yaml"), group="api")
    return Client(make_front(conf, conductor=client, clock=standing_still))


def standing_still() -> float:
    """Return the time: no pause after a failed login ends, however slow the machine is."""
    return 0.0


def asked(user: str = "alice", password: str = PASSWORD, **auth: Any) -> dict[str, Any]:
    """Return the body of a login."""
    who = {"name": user, "domain": {"id": "default"}, "password": password}
    return {"auth": {"identity": {"methods": ["password"], "password": {"user": who}}, **auth}}


def of_project(name: str) -> dict[str, Any]:
    return {"project": {"name": name, "domain": {"name": "Default"}}}


def log_in(web: Client, user: str = "alice", **auth: Any) -> str:
    """Return a new token."""
    result = web.simulate_post("/identity/v3/auth/tokens", json=asked(user, **auth))
    assert result.status_code == 201, result.text
    return result.headers["X-Subject-Token"]


def get(web: Client, path: str, token: str | None, **headers: str) -> testing.Result:
    sent = {**headers} if token is None else {"X-Auth-Token": token, **headers}
    return web.simulate_get(path, headers=sent)
