"""The REST application: what every answer has, whatever was asked."""

import logging
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary import exception
from placement.engine import PlacementEngine
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail, rest_conf

EMPTY = "/resource_providers"


def test_every_answer_has_an_id_of_its_own(api: PlacementApi) -> None:
    """By which its log lines are found."""
    ids = {api.get("/").headers["x-openstack-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_an_answer_is_logged_with_its_id(
    api: PlacementApi, caplog: pytest.LogCaptureFixture
) -> None:
    """One line, with method, path and status."""
    with caplog.at_level(logging.INFO, "armillary.http.request_id"):
        result = api.get("/")
    (record,) = caplog.records
    assert "GET /: 200 OK" in record.getMessage()
    assert result.headers["x-openstack-request-id"] in record.getMessage()


@pytest.mark.parametrize("path", ["/nothing/here", "/resource_providers/1/cows"])
def test_an_unknown_route_is_an_error_in_the_one_shape(api: PlacementApi, path: str) -> None:
    """Not the framework's."""
    result = api.get(path)
    assert (result.status_code, check_error(result)["title"]) == (404, "Not Found")
    assert detail(result) == "The resource could not be found."


@pytest.mark.parametrize("method", ["DELETE", "OPTIONS", "PATCH", "HEAD"])
def test_a_wrong_method_is_an_error_that_names_the_right_ones(
    api: PlacementApi, method: str
) -> None:
    """In the header Allow."""
    result = api.send(method, EMPTY)
    assert result.status_code == 405
    assert result.headers["allow"] == "GET, POST"


def test_a_wrong_method_is_named(api: PlacementApi) -> None:
    """In the detail."""
    assert detail(api.delete("/")) == "The method DELETE is not allowed for this resource."


def test_a_database_that_is_away_is_a_503(
    api: PlacementApi, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the advice to come again, and without what the driver said."""

    def away() -> None:
        raise exception.DatabaseUnavailable(name="placement", reason="db.example.org refused")

    monkeypatch.setattr(engine, "ping", away)
    result = api.get("/healthcheck")
    assert "example.org" not in detail(result)
    assert (result.status_code, result.headers["retry-after"]) == (503, "10")


def test_an_unexpected_error_is_a_500_without_details(
    api: PlacementApi,
    engine: PlacementEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log has them, under the id of the request."""

    def breaks() -> None:
        raise KeyError("inner detail")

    monkeypatch.setattr(engine, "ping", breaks)
    with caplog.at_level(logging.ERROR):
        result = api.get("/healthcheck")
    error = check_error(result)
    assert (result.status_code, "inner" in error["detail"]) == (500, False)
    assert error["request_id"] in caplog.text
    assert "inner detail" in caplog.text


@pytest.mark.parametrize("path", ["/", "/healthcheck", "/openapi.json"])
def test_some_paths_need_no_token(api: PlacementApi, path: str) -> None:
    """Those that say what there is and whether it works."""
    assert api.get(path, token=None).status_code == 200


@pytest.mark.parametrize("path", [EMPTY, "/nothing/here"])
def test_all_others_need_one(api: PlacementApi, path: str) -> None:
    """Whether they exist or not."""
    result = api.get(path, token=None)
    assert result.status_code == 401
    assert result.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        ("application/json", 200),
        ("*/*", 200),
        ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", 200),
        ("text/plain", 406),
        ("text/html,application/xml;q=0.9", 406),
    ],
)
def test_only_json_is_provided(api: PlacementApi, accept: str, status: int) -> None:
    """And to a client that takes anything."""
    assert api.get(EMPTY, headers={"Accept": accept}).status_code == status


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/html", "text/html"),
        ("*/*", "application/json"),
        ("text/plain", "text/plain"),
        (";,;", "application/json"),
    ],
)
def test_an_error_is_html_for_a_browser(api: PlacementApi, accept: str, kind: str) -> None:
    """Text for a client that accepts neither, JSON for all others."""
    result = api.get("/nothing<here>", headers={"Accept": accept})
    assert result.headers["content-type"].startswith(kind)
    assert "could not be found" in result.text


def test_html_has_no_markup_of_the_client(api: PlacementApi) -> None:
    """A version is repeated in the error; it is text."""
    headers = {"Accept": "text/html", "OpenStack-API-Version": "placement <b>"}
    result = api.get("/", version=None, headers=headers)
    assert "invalid version string: &lt;b&gt;" in result.text


def test_without_cors_no_origin_is_let_in(api: PlacementApi) -> None:
    """There is no such header."""
    result = api.get("/", headers={"Origin": "http://a.example.org"})
    assert "access-control-allow-origin" not in result.headers


@pytest.mark.parametrize(
    ("origin", "is_let_in"), [("http://a.example.org", True), ("http://b.example.org", False)]
)
def test_with_cors_the_named_origin_is_let_in(
    tmp_path: Path, engine: PlacementEngine, origin: str, is_let_in: bool
) -> None:
    """Also when a browser asks in advance, which it does without a token."""
    conf = rest_conf(tmp_path, cors={"allowed_origin": "http://a.example.org"})
    asked = {"Origin": origin, "Access-Control-Request-Method": "GET"}
    result = PlacementApi(conf, engine).send("OPTIONS", EMPTY, token=None, headers=asked)
    assert result.status_code == 200
    assert ("access-control-allow-origin" in result.headers) is is_let_in


@pytest.mark.parametrize(
    ("is_trusted", "forwarded", "origin"),
    [
        ("true", "cloud.example.org", "https://cloud.example.org/"),
        ("true", "cloud.example.org:8443", "https://cloud.example.org:8443/"),
        ("true", "cloud.example.org:port", "https://falconframework.org:80/"),
        ("false", "cloud.example.org", "http://falconframework.org/"),
    ],
)
def test_locations_are_those_of_a_trusted_proxy(
    tmp_path: Path, engine: PlacementEngine, is_trusted: str, forwarded: str, origin: str
) -> None:
    """That it ended TLS is in a header, which anybody could send."""
    conf = rest_conf(tmp_path, oslo_middleware={"enable_proxy_headers_parsing": is_trusted})
    body = {"name": "p", "uuid": "8f2c0c1e-0f0a-4b41-a0fd-2a3d4f2b9f10"}
    headers = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": forwarded}
    result = PlacementApi(conf, engine).post(EMPTY, body, version="1.0", headers=headers)
    assert result.headers["location"].startswith(origin)


def test_a_policy_file_that_cannot_be_used_stops_the_start(
    conf: cfg.ConfigOpts, tmp_path: Path, engine: PlacementEngine
) -> None:
    """Rather than to accept no client, or every one."""
    (tmp_path / "policy.yaml").write_text("[not a policy")
    with pytest.raises(exception.ConfigurationError, match=r"policy\.yaml"):
        PlacementApi(conf, engine)


@pytest.mark.parametrize("path", ["/traits/", "//traits", "/allocations/", "//"])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_path_with_an_empty_part_is_none_of_the_api(
    api: PlacementApi, path: str, method: str
) -> None:
    """404 also where the empty part could be a name."""
    result = api.send(method, path)
    assert (result.status_code, "allow" in result.headers) == (404, False)


def test_a_query_of_a_path_that_takes_none_is_ignored(api: PlacementApi) -> None:
    """Clients and proxies add what they like; where a query selects, it is checked."""
    assert api.get("/resource_classes?foo=bar").status_code == 200
    assert api.get("/resource_providers?foo=bar").status_code == 400


def test_writes_are_done_whatever_the_client_accepts(api: PlacementApi) -> None:
    """Only what is read has to be acceptable."""
    headers = {"Accept": "text/plain"}
    body = {"name": "host1"}
    assert api.post("/resource_providers", body, headers=headers).status_code == 200
    assert api.put("/resource_classes/CUSTOM_A", headers=headers).status_code == 201


def test_a_method_that_came_later_is_not_among_the_allowed(api: PlacementApi) -> None:
    """The header names what the version of the request has."""
    uuid = api.post("/resource_providers", {"name": "host1"}).json["uuid"]
    result = api.delete(f"/resource_providers/{uuid}/inventories", version="1.4")
    assert (result.status_code, result.headers["allow"]) == (405, "GET, POST, PUT")


def test_a_service_without_a_version_has_the_first(api: PlacementApi) -> None:
    """As if the header were not there."""
    result = api.get("/", version=None, headers={"OpenStack-API-Version": "placement"})
    assert result.headers["openstack-api-version"] == "placement 1.0"
