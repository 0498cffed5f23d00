"""Requests that name a foreign host are refused where a browser could send them."""

from pathlib import Path
from typing import Any

import falcon
import pytest
from falcon import testing
from oslo_config import cfg

from api import errors
from armillary.conf import api as api_options
from armillary.conf import register
from armillary.http.trusted_hosts import TrustedHosts, guarded
from tests.fixtures.checks import audit_log


class Fine:
    """Answers every request."""

    def on_get(self, req: falcon.Request, resp: falcon.Response) -> None:
        resp.text = "fine"


def an_app() -> Any:
    app = falcon.App()
    app.add_route("/", Fine())
    return app


def status_of(app: Any, host: str | None, origin: str | None = None, method: str = "GET") -> int:
    """Return the status of a request with these headers."""
    headers = {"Origin": origin} if origin else {}
    environ = testing.create_environ("/", method=method, headers=headers)
    if host is None:
        del environ["HTTP_HOST"]
    else:
        environ["HTTP_HOST"] = host
    answer = testing.StartResponseMock()
    list(app(environ, answer))
    return int(str(answer.status)[:3])


@pytest.fixture
def conf() -> cfg.ConfigOpts:
    conf = cfg.ConfigOpts()
    register(conf, api_options)
    conf([])
    return conf


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8774",
        "LOCALHOST.",
        "127.0.0.1:8774",
        "127.1.2.3",
        "[::1]:8774",
        None,
    ],
)
def test_names_of_this_machine_are_served(host: str | None) -> None:
    """What a program on this machine sends passes."""
    assert status_of(TrustedHosts(an_app(), errors.refusal), host) == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8774",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example#localhost",
        "localhost@evil.example",
        "evil.example@localhost",
        "10.0.0.1",
        "[::1",
        "localhost:port",
        "",
    ],
)
def test_a_foreign_host_is_refused(host: str) -> None:
    """A page whose name resolves to this machine (DNS rebinding) gets nothing."""
    assert status_of(TrustedHosts(an_app(), errors.refusal), host) == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "http://evil.example:8774", "null"])
def test_a_foreign_origin_is_refused(origin: str) -> None:
    """A page of another site gets nothing, though it asks for this host."""
    assert status_of(TrustedHosts(an_app(), errors.refusal), "localhost:8774", origin) == 403


def test_a_page_of_this_machine_is_served() -> None:
    """A page that this machine serves may ask."""
    app = TrustedHosts(an_app(), errors.refusal)
    assert status_of(app, "localhost:8774", "http://localhost:8774") == 200


def test_hosts_that_the_operator_allows_are_served(conf: cfg.ConfigOpts) -> None:
    """Names of a proxy are allowed by configuration, in Host and in Origin."""
    conf.set_override("allowed_hosts", ["cloud.example"], group="api")
    conf.set_override("compute_link_prefix", "https://links.example:8443/", group="api")
    app = guarded(an_app(), conf, bind_host="127.0.0.1", refusal=errors.refusal, service="compute")
    statuses = [
        status_of(app, "cloud.example:8774", "https://cloud.example"),
        status_of(app, "links.example"),
        status_of(app, "other.example"),
    ]
    assert statuses == [200, 200, 403]


@pytest.mark.parametrize(
    ("auth_strategy", "bind_host", "status"),
    [
        ("noauth", "127.0.0.1", 403),
        ("token_file", "127.0.0.1", 403),
        ("token_file", "0.0.0.0", 200),
        ("noauth2", "0.0.0.0", 403),
    ],
)
def test_apis_on_loopback_or_without_authentication_are_guarded(
    conf: cfg.ConfigOpts, auth_strategy: str, bind_host: str, status: int
) -> None:
    """A deployment that authenticates and listens on the network is reached by any name."""
    conf.set_override("auth_strategy", auth_strategy, group="api")
    app = guarded(an_app(), conf, bind_host=bind_host, refusal=errors.refusal, service="compute")
    assert status_of(app, "evil.example") == status


def test_a_refusal_says_what_to_do() -> None:
    """The answer has the API's own form, and names the option."""
    app = TrustedHosts(an_app(), errors.refusal)
    answer = testing.TestClient(app).simulate_get("/", headers={"Host": "evil.example"})
    assert "[api] allowed_hosts" in answer.json["forbidden"]["message"]


def test_a_refusal_is_in_the_audit_trail(conf: cfg.ConfigOpts, tmp_path: Path) -> None:
    """A page that tries leaves a record, with all that is known of it."""
    log = audit_log.switch_on(conf, tmp_path)
    app = guarded(an_app(), conf, bind_host="127.0.0.1", refusal=errors.refusal, service="compute")
    client = testing.TestClient(app)
    headers = {"Host": "localhost", "Origin": "https://evil.example"}
    assert (
        client.simulate_post("/servers", headers=headers, remote_addr="192.0.2.7").status_code
        == 403
    )
    (event,) = audit_log.events_of(log)
    assert (event["action"], event["outcome"]) == ("create", "failure/refused")
    assert event["reason"] == {"reasonType": "ForeignOrigin", "reasonCode": "403"}
    assert event["initiator"]["host"]["address"] == "192.0.2.7"
    assert status_of(app, "localhost") == 200
    assert audit_log.events_of(log) == []


def test_origins_that_cors_allows_are_served(conf: cfg.ConfigOpts) -> None:
    """A page that the operator lets in by [cors] gets in, another one does not."""
    conf.register_opt(cfg.ListOpt("allowed_origin"), group="cors")
    conf.set_override("allowed_origin", ["https://pages.example"], group="cors")
    app = guarded(an_app(), conf, bind_host="127.0.0.1", refusal=errors.refusal, service="compute")
    statuses = [
        status_of(app, "localhost", origin)
        for origin in ("https://pages.example", "https://pages.example.evil.example")
    ]
    assert statuses == [200, 403]


def test_reading_may_be_allowed_to_all_origins(conf: cfg.ConfigOpts) -> None:
    """What changes something is refused still, and so is a foreign host."""
    app = guarded(
        an_app(),
        conf,
        bind_host="127.0.0.1",
        refusal=errors.refusal,
        service="placement",
        reads_from_anywhere=True,
    )
    evil = "https://evil.example"
    statuses = [
        status_of(app, "localhost", evil),
        status_of(app, "localhost", evil, "POST"),
        status_of(app, "localhost", evil, "DELETE"),
        status_of(app, "evil.example", evil),
    ]
    assert statuses == [200, 403, 403, 403]
