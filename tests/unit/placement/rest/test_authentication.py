"""Whose a request is, for each way to prove it."""

from pathlib import Path

import pytest

from armillary import exception
from placement.engine import PlacementEngine
from tests.fixtures.access.token_files import token_entry, write_token_file
from tests.fixtures.placement.placement_rest import PlacementApi, rest_conf
from tests.fixtures.services.keystone import StandInKeystone

PROVIDERS = "/resource_providers"
USAGES = "/usages?project_id=p1"


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        ("admin", {}, 200),
        ("admin:p1", {}, 200),
        ("alice", {}, 403),
        ("alice", {"X-Roles": "admin"}, 200),
        ("alice", {"X-Roles": "reader, service"}, 200),
        ("admin", {"X-Roles": "reader"}, 403),
        ("admin", {"OpenStack-System-Scope": "all"}, 403),
        (":p1", {}, 401),
        ("", {}, 401),
        (None, {}, 401),
        ("x" * 513, {"X-Roles": "admin"}, 401),
    ],
    ids=str,
)
def test_noauth2_believes_a_token_and_the_headers_beside_it(
    api: PlacementApi, token: str | None, headers: dict[str, str], status: int
) -> None:
    """But wants one."""
    assert api.get(PROVIDERS, token=token, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("token", "headers", "status"),
    [
        ("alice:p1", {}, 200),
        ("alice:p2", {}, 403),
        ("p1", {}, 200),
        ("alice", {"X-Project-Id": "p1"}, 200),
        ("alice:p1", {"X-Project-Id": "p2"}, 403),
    ],
    ids=str,
)
def test_a_reader_sees_the_usages_of_his_project(
    api: PlacementApi, token: str, headers: dict[str, str], status: int
) -> None:
    """The project is the header's, the token's, or called like the user."""
    headers = {"X-Roles": "reader", **headers}
    assert api.get(USAGES, token=token, headers=headers).status_code == status


def test_noauth_needs_no_token(tmp_path: Path, engine: PlacementEngine) -> None:
    """An anonymous request is the administrator's."""
    api = PlacementApi(rest_conf(tmp_path, api={"auth_strategy": "noauth"}), engine)
    assert api.get(PROVIDERS, token=None).status_code == 200
    assert api.get(PROVIDERS, token="alice").status_code == 403


@pytest.fixture
def with_tokens(tmp_path: Path, engine: PlacementEngine) -> PlacementApi:
    """Return an API that knows a token for each of three roles, in project p1."""
    roles = ("admin", "service", "member")
    entries = [token_entry(f"token-{role}", role, "p1", [role]) for role in roles]
    path = write_token_file(tmp_path, entries)
    options = {"auth_strategy": "token_file", "token_file": str(path)}
    return PlacementApi(rest_conf(tmp_path, api=options), engine)


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        ("token-admin", PROVIDERS, 200),
        ("token-service", PROVIDERS, 200),
        ("token-member", PROVIDERS, 403),
        ("token-member", USAGES, 200),
        ("token-member", "/usages?project_id=p2", 403),
        ("admin", PROVIDERS, 401),
        (None, PROVIDERS, 401),
    ],
)
def test_a_token_file_says_whose_a_token_is(
    with_tokens: PlacementApi, token: str | None, path: str, status: int
) -> None:
    """A member is a reader, too."""
    assert with_tokens.get(path, token=token).status_code == status


def test_with_a_token_file_headers_bring_no_rights(with_tokens: PlacementApi) -> None:
    """Anybody can send them."""
    headers = {"X-Roles": "admin", "X-Identity-Status": "Confirmed", "X-User-Id": "admin"}
    assert with_tokens.get(PROVIDERS, token="token-member", headers=headers).status_code == 403


def test_a_token_file_must_be_named(tmp_path: Path, engine: PlacementEngine) -> None:
    """The line says which option is missing."""
    conf = rest_conf(tmp_path, api={"auth_strategy": "token_file"})
    with pytest.raises(exception.ConfigurationError, match=r"\[api\] token_file must be set"):
        PlacementApi(conf, engine)


@pytest.fixture
def with_keystone(
    tmp_path: Path, engine: PlacementEngine, keystone: StandInKeystone
) -> PlacementApi:
    """Return an API that asks a Keystone."""
    conf = rest_conf(
        tmp_path, api={"auth_strategy": "keystone"}, keystone_authtoken=keystone.client_options
    )
    return PlacementApi(conf, engine)


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        ("token-admin", PROVIDERS, 200),
        ("token-reader", PROVIDERS, 403),
        ("token-reader", USAGES, 200),
        ("token-reader", "/usages?project_id=p2", 403),
        ("token-unknown", PROVIDERS, 401),
        (None, PROVIDERS, 401),
        (None, "/", 200),
        ("token-unknown", "/healthcheck", 200),
    ],
)
def test_keystone_says_whose_a_token_is(
    with_keystone: PlacementApi, token: str | None, path: str, status: int
) -> None:
    """And the paths that need no token need none."""
    assert with_keystone.get(path, token=token).status_code == status


def test_with_keystone_headers_bring_no_rights(with_keystone: PlacementApi) -> None:
    """What a client says about itself is taken out."""
    headers = {"X-Roles": "admin", "X-Identity-Status": "Confirmed", "X-User-Id": "admin"}
    assert with_keystone.get(PROVIDERS, token=None, headers=headers).status_code == 401
    assert with_keystone.get(PROVIDERS, token="token-reader", headers=headers).status_code == 403


def test_a_token_that_keystone_cannot_be_asked_about_is_not_called_invalid(
    with_keystone: PlacementApi, keystone: StandInKeystone
) -> None:
    """A client would log in again, or log its user out; what needs no token is answered."""
    assert with_keystone.get(PROVIDERS, token="token-admin").status_code == 200
    keystone.is_down = True
    answer = with_keystone.get(PROVIDERS, token="token-never-seen")
    assert answer.status_code == 503
    assert answer.headers["retry-after"]
    assert with_keystone.get("/", token="token-never-seen").status_code == 200
    assert with_keystone.get(PROVIDERS, token=None).status_code == 401
    keystone.is_down = False
    assert with_keystone.get(PROVIDERS, token="token-never-seen").status_code == 401


def test_who_is_not_let_in_learns_where_tokens_are(
    with_keystone: PlacementApi, keystone: StandInKeystone
) -> None:
    """In the header that is for it."""
    challenge = with_keystone.get(PROVIDERS, token=None).headers["www-authenticate"]
    assert f'Keystone uri="{keystone.url}"' in challenge
