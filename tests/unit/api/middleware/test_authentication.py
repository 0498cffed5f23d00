"""Who asks: believed, or proven by a token."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from api.middleware.authentication import make_authenticate
from armillary import exception
from tests.fixtures.access.token_files import token_entry, write_token_file
from tests.fixtures.http_api import Api
from tests.fixtures.services import keystone
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.conftest import make_conf


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
    roles = ("admin", "member", "reader")
    entries = [token_entry(f"token-{role}", role, "p1", [role]) for role in roles]
    path = write_token_file(tmp_path, entries)
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


def test_a_strategy_of_placement_alone_is_refused(conf: cfg.ConfigOpts) -> None:
    """The line says which ones are offered here."""
    conf.set_override("auth_strategy", "noauth2", group="api")
    with pytest.raises(exception.ConfigurationError, match="accepts noauth, token_file and key"):
        make_authenticate(conf)


def test_the_word_for_no_token_is_not_a_token(api: Api, client: SuperConductorClient) -> None:
    """Clients that are told to send no token send "notused"."""
    assert api.get("/v2.1/flavors", token="notused").status_code == 200
    assert client.calls[-1][1].user_id == "admin"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2.1/p1/flavors", 200),
        ("/v2.1/p1/flavors/detail", 200),
        ("/v2.1/p2/flavors", 400),
        ("/v2.1/p1/nothing", 404),
        ("/v2.1/p1", 404),
    ],
)
def test_a_path_may_contain_the_callers_project(
    path: str, status: int, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """As endpoints of older service catalogues have it; another project is a mistake."""
    web = testing.TestClient(make_front(conf, conductor=client))
    headers = {"X-Auth-Token": "alice:p1"}
    assert web.simulate_get(path, headers=headers).status_code == status


@pytest.mark.parametrize(
    ("token", "path", "status"),
    [
        ("token-admin", "/v2.1/os-services", 200),
        ("token-reader", "/v2.1/os-services", 403),
        ("token-reader", "/v2.1/flavors", 200),
        ("token-unknown", "/v2.1/flavors", 401),
        (None, "/v2.1/flavors", 401),
        (None, "/v2.1", 200),
        ("token-reader", "/identity/v3", 404),
    ],
)
def test_keystone_says_whose_a_token_is(
    token: str | None, path: str, status: int, with_keystone: testing.TestClient
) -> None:
    """And there are no users beside those of Keystone."""
    headers = {"X-Roles": "admin", "X-Identity-Status": "Confirmed"}
    if token is not None:
        headers["X-Auth-Token"] = token
    assert with_keystone.simulate_get(path, headers=headers).status_code == status


@pytest.mark.parametrize("token", keystone.SCOPES)
@pytest.mark.parametrize(
    "path",
    ["/v2.1/servers", "/v2.1/servers/detail?all_tenants=1", "/v2.1/os-server-groups",
     "/v2.1/flavors", "/v2.1/limits", "/v2.1/os-keypairs", "/image/v2/images"],
)  # fmt: skip
def test_a_token_of_no_project_is_shown_nothing(
    token: str, path: str, with_keystone: testing.TestClient
) -> None:
    """One of a domain, of the system or of nothing: it would be no project's, and so all's."""
    answer = with_keystone.simulate_get(path, headers={"X-Auth-Token": token})
    assert answer.status_code == 403
    assert "for no project" in answer.text


@pytest.fixture(scope="module")
def with_keystone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[testing.TestClient]:
    """Return a client of an API that asks a Keystone."""
    folder = tmp_path_factory.mktemp("keystone")
    with keystone.StandInKeystone().running() as running:
        conf = make_conf(folder)
        options = "".join(f"{name} = {value}\n" for name, value in running.client_options.items())
        path = folder / "keystone.conf"
        path.write_text(f"[api]\nauth_strategy = keystone\n[keystone_authtoken]\n{options}")
        conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
        front = make_front(conf, conductor=SuperConductorClient(SuperConductor()))
        yield testing.TestClient(lambda environ, start_response: front(environ, start_response))
