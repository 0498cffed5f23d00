"""Who asks: believed, or proven by a token."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from oslo_config import cfg

from api.authentication import make_authenticate
from armillary import exception
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductorClient


@pytest.mark.parametrize(
    ("token", "user", "project", "is_admin"),
    [
        (None, "admin", "admin", True),
        ("", "admin", "admin", True),
        ("admin:p2", "admin", "p2", True),
        ("alice:p1", "alice", "p1", False),
        ("alice", "alice", "alice", False),
        ("alice:", "alice", "alice", False),
        ("alice:a:b", "alice", "a:b", False),
    ],
)
def test_without_authentication_everybody_is_believed(
    token: str | None,
    user: str,
    project: str,
    is_admin: bool,
    api: Api,
    client: SuperConductorClient,
) -> None:
    """USER:PROJECT is that user; nothing is the administrator."""
    assert api.get("/v2.1/flavors", token=token).status_code == 200
    _method, context = client.calls[-1]
    assert (context.user_id, context.project_id) == (user, project)
    assert bool(context.is_admin) is is_admin


@pytest.mark.parametrize("token", [":p1", ":", "x" * 513, "a\x07b:p"], ids=repr)
def test_a_token_without_an_owner_is_refused(token: str, api: Api) -> None:
    """A token must at least name a user."""
    assert api.get("/v2.1/flavors", token=token).status_code == 401


@pytest.fixture
def with_tokens(conf: cfg.ConfigOpts, tmp_path: Path, make_api: Callable[[], Api]) -> Api:
    """Return an API that knows the tokens of an administrator, a member and a reader."""
    entries = [
        {
            "sha256": hashlib.sha256(f"token-{role}".encode()).hexdigest(),
            "user": role,
            "project": "p1",
            "roles": [role],
        }
        for role in ("admin", "member", "reader")
    ]
    path = tmp_path / "tokens.yaml"
    path.write_text(yaml.safe_dump({"tokens": entries}))
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(path), group="api")
    return make_api()


@pytest.mark.parametrize("token", [None, "", "wrong", "admin:admin", "x" * 10000], ids=str)
def test_with_a_token_file_no_other_token_is_accepted(token: str | None, with_tokens: Api) -> None:
    """A missing token is a wrong one."""
    assert with_tokens.get("/v2.1/flavors", token=token).status_code == 401


@pytest.mark.parametrize(("role", "status"), [("admin", 200), ("member", 403), ("reader", 403)])
def test_a_token_brings_its_roles(role: str, status: int, with_tokens: Api) -> None:
    """And only those."""
    assert with_tokens.get("/v2.1/os-services", token=f"token-{role}").status_code == status


def test_a_token_file_must_be_named(conf: cfg.ConfigOpts) -> None:
    """The line says which option is missing."""
    conf.set_override("auth_strategy", "token_file", group="api")
    with pytest.raises(exception.ConfigurationError, match=r"\[api\] token_file must be set"):
        make_authenticate(conf)


@pytest.mark.parametrize("strategy", ["noauth2", "keystone"])
def test_a_strategy_of_placement_alone_is_refused(strategy: str, conf: cfg.ConfigOpts) -> None:
    """The line says which ones are offered here."""
    conf.set_override("auth_strategy", strategy, group="api")
    with pytest.raises(
        exception.ConfigurationError, match="armillary-api accepts noauth and token_"
    ):
        make_authenticate(conf)
