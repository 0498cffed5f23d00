"""The application: what passes in which order, and what it refuses to be."""

import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from api.app import make_app
from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from objects.flavor import Flavor
from rpc.transport import Bus
from tests import builders
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.http_api import Api
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.super_conductor import SuperConductorClient


@pytest.mark.parametrize("path", ["/", "/v2.1", "/v2.1/", "/v2.1/openapi.json", "/healthcheck"])
def test_what_says_what_this_is_needs_no_token(
    path: str, conf: cfg.ConfigOpts, tmp_path: Path, make_api: Callable[[], Api]
) -> None:
    """Clients find their way before they log in."""
    _with_tokens(conf, tmp_path)
    assert make_api().get(path).status_code == 200


def test_everything_else_needs_one(
    conf: cfg.ConfigOpts, tmp_path: Path, make_api: Callable[[], Api], client: SuperConductorClient
) -> None:
    """Without a token no conductor is asked."""
    _with_tokens(conf, tmp_path)
    answer = make_api().get("/v2.1/servers")
    assert answer.status_code == 401
    assert answer.json == {
        "unauthorized": {"code": 401, "message": "The request needs a valid token."}
    }
    assert "WWW-Authenticate" in answer.headers
    assert client.calls == []


def test_a_body_of_a_stranger_is_not_read(
    conf: cfg.ConfigOpts, tmp_path: Path, make_api: Callable[[], Api]
) -> None:
    """First who, then what."""
    _with_tokens(conf, tmp_path)
    answer = make_api().send("POST", "/v2.1/servers", body="no JSON")
    assert answer.status_code == 401


def test_a_body_beyond_the_limit_is_refused_even_before_that(
    conf: cfg.ConfigOpts, tmp_path: Path, make_api: Callable[[], Api]
) -> None:
    """Only status 413 keeps the server from reading the rest of it."""
    _with_tokens(conf, tmp_path)
    conf.set_override("max_body_bytes", 1024, group="api")
    answer = make_api().send("POST", "/v2.1/servers", body="x" * 1025)
    assert answer.status_code == 413


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "api.example.org"])
def test_noauth_is_for_this_machine_only(
    host: str, conf: cfg.ConfigOpts, client: SuperConductorClient
) -> None:
    """Everybody on the network would be an administrator."""
    conf.set_override("bind_host", host, group="api")
    with pytest.raises(exception.ConfigurationError, match=r"\[api\] bind_host .* token_file"):
        make_app(conf, conductor=client)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_noauth_serves_this_machine(
    host: str, conf: cfg.ConfigOpts, client: SuperConductorClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Every name of the loopback will do; the log warns of the other users of the machine."""
    conf.set_override("bind_host", host, group="api")
    make_app(conf, conductor=client)
    assert f"every user and program of this machine that reaches {host} may" in caplog.text


def test_noauth_serves_a_network_if_the_operator_says_so(
    conf: cfg.ConfigOpts, client: SuperConductorClient, caplog: pytest.LogCaptureFixture
) -> None:
    """Loudly."""
    conf.set_override("bind_host", "0.0.0.0", group="api")
    conf.set_override("allow_network_without_authentication", True, group="api")
    make_app(conf, conductor=client)
    assert "EVERY CLIENT ON THE NETWORK" in caplog.text


def test_with_tokens_any_address_will_do(
    conf: cfg.ConfigOpts, tmp_path: Path, client: SuperConductorClient
) -> None:
    """It is the proof that counts."""
    _with_tokens(conf, tmp_path)
    conf.set_override("bind_host", "0.0.0.0", group="api")
    make_app(conf, conductor=client)


def test_links_begin_with_the_prefix_of_a_proxy(
    conf: cfg.ConfigOpts, make_api: Callable[[], Api]
) -> None:
    """Clients see the proxy's address, not ours."""
    conf.set_override("compute_link_prefix", "https://cloud.example.org/", group="api")
    versions = make_api().get("/").json["versions"]
    assert [version["links"] for version in versions] == [
        [{"rel": "self", "href": f"https://cloud.example.org/{path}/"}] for path in ("v2", "v2.1")
    ]


def test_links_do_not_follow_the_header_of_a_client(make_api: Callable[[], Api]) -> None:
    """A cache before the API would lead others to the host that an attacker names."""
    for headers in ({"Host": "evil.example"}, {"X-Forwarded-Host": "evil.example"}):
        answer = make_api().send("GET", "/", headers=headers)
        assert "evil" not in answer.text
        assert [version["links"][0]["href"] for version in answer.json["versions"]] == [
            "http://falconframework.org/v2/", "http://falconframework.org/v2.1/",
        ]  # fmt: skip


def test_the_operators_policy_file_changes_who_administers(
    tmp_path: Path, make_api: Callable[[], Api]
) -> None:
    """The rule decides, not the name of a role."""
    (tmp_path / "policy.yaml").write_text('"context_is_admin": "role:member"\n')
    assert make_api().get("/v2.1/os-services", token="u1:p1").status_code == 200


def _with_tokens(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    (tmp_path / "tokens.yaml").write_text("tokens: []\n")
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(tmp_path / "tokens.yaml"), group="api")


class FlavorsOnly:
    """A super conductor on a real bus that knows one flavor, and hangs or breaks when told to."""

    def __init__(self) -> None:
        self.release = threading.Event()

    def get_flavor(self, context: RequestContext, flavor: str) -> Flavor:
        if flavor == "broken":
            raise KeyError("inner detail")
        if flavor == "slow":
            self.release.wait(20)
        if flavor != "small":
            raise exception.FlavorNotFound(flavor=flavor)
        return builders.a_flavor("small")


@pytest.fixture
def over_a_bus(conf: cfg.ConfigOpts) -> Iterator[Api]:
    """Return an API whose super conductor is behind a broker."""
    endpoint = FlavorsOnly()
    bus = Bus(messaging_conf(), f"kombu+memory:////{uuid.uuid4()}")
    server = an_rpc_server(bus, SuperConductorAPI, "here", endpoint)
    server.start()
    yield Api(make_app(conf, conductor=SuperConductorAPI(bus, timeout_seconds=1)))
    endpoint.release.set()
    server.stop()
    server.wait()
    bus.close()


@pytest.mark.parametrize(
    ("flavor", "status"), [("small", 200), ("huge", 404), ("broken", 500), ("slow", 504)]
)
def test_it_speaks_over_a_real_bus(flavor: str, status: int, over_a_bus: Api) -> None:
    """Objects and errors come through, and the outcome of silence is unknown."""
    answer = over_a_bus.get(f"/v2.1/flavors/{flavor}")
    assert answer.status_code == status
    assert "inner detail" not in answer.text
