"""The REST application: its one document, and its one shape of errors."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from falcon import testing

from armillary import exception
from placement.engine import PlacementEngine
from placement.rest.app import make_app


@pytest.fixture
def client(engine: PlacementEngine) -> testing.TestClient:
    return testing.TestClient(make_app(engine))


def only_error(result: testing.Result) -> dict[str, Any]:
    """Return the error of an answer, after a look at what all have."""
    (error,) = result.json["errors"]
    assert error["status"] == result.status_code
    assert error["request_id"] == result.headers["x-openstack-request-id"]
    assert result.headers["content-type"] == "application/json"
    return dict(error)


def test_the_root_says_which_versions_there_are(client: testing.TestClient) -> None:
    """Clients look here before anything else."""
    result = client.simulate_get("/")
    assert result.status_code == 200
    assert result.json == {
        "versions": [
            {
                "id": "v1.0",
                "min_version": "1.0",
                "max_version": "1.0",
                "status": "CURRENT",
                "links": [{"rel": "self", "href": ""}],
            }
        ]
    }


def test_every_answer_has_an_id_of_its_own(client: testing.TestClient) -> None:
    """By which its log lines are found."""
    ids = {client.simulate_get("/").headers["x-openstack-request-id"] for _ in range(3)}
    assert len(ids) == 3


def test_an_unknown_route_is_an_error_in_the_one_shape(client: testing.TestClient) -> None:
    """Not the framework's."""
    assert only_error(client.simulate_get("/nothing/here"))["title"] == "Not Found"


def test_a_wrong_method_is_an_error_in_the_one_shape(client: testing.TestClient) -> None:
    """It names the method, and the header those that are allowed."""
    result = client.simulate_delete("/")
    assert only_error(result)["detail"] == "The method DELETE is not allowed for this resource."
    assert "GET" in result.headers["allow"]


def test_the_health_check_asks_the_database(client: testing.TestClient) -> None:
    """A process without its database is of no use."""
    assert client.simulate_get("/healthcheck").json == {"status": "ok"}


def test_a_database_that_is_away_is_a_503(
    client: testing.TestClient, engine: PlacementEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the advice to come again, and without what the driver said."""

    def away() -> None:
        raise exception.DatabaseUnavailable(name="placement", reason="db.example.org refused")

    monkeypatch.setattr(engine, "ping", away)
    result = client.simulate_get("/healthcheck")
    assert "example.org" not in only_error(result)["detail"]
    assert (result.status_code, result.headers["retry-after"]) == (503, "10")


def test_what_nobody_expected_is_a_500_without_details(
    client: testing.TestClient,
    engine: PlacementEngine,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The log has them, under the id of the request."""

    def breaks() -> None:
        raise KeyError("inner detail")

    monkeypatch.setattr(engine, "ping", breaks)
    with caplog.at_level(logging.ERROR):
        result = client.simulate_get("/healthcheck")
    error = only_error(result)
    assert (result.status_code, "inner" in error["detail"]) == (500, False)
    assert error["request_id"] in caplog.text
    assert "inner detail" in caplog.text
