"""Every request has an id, in answer and log, and keeps its caller's."""

import logging

import pytest

from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductorClient

THEIRS = "req-4b1f3f6c-8d1a-4c43-9a59-0e2d9b0f5c11"


def test_the_id_in_the_answer_is_the_one_the_conductor_sees(
    api: Api, client: SuperConductorClient
) -> None:
    """One id from front door to log."""
    answer = api.get("/v2.1/flavors")
    _method, context = client.calls[-1]
    assert answer.headers["x-openstack-request-id"] == context.request_id
    assert answer.headers["x-compute-request-id"] == context.request_id


def test_the_callers_id_goes_along(api: Api, client: SuperConductorClient) -> None:
    """As the global request id, beside our own."""
    answer = api.send("GET", "/v2.1/flavors", headers={"x-openstack-request-id": THEIRS})
    _method, context = client.calls[-1]
    assert context.global_request_id == THEIRS
    assert answer.headers["x-openstack-request-id"] != THEIRS


@pytest.mark.parametrize("theirs", ["req-1", "x" * 10000, f"{THEIRS} x", "req-\x07"], ids=len)
def test_an_id_of_another_form_is_ignored(
    theirs: str, api: Api, client: SuperConductorClient
) -> None:
    """It would stand in every log line."""
    assert (
        api.send("GET", "/v2.1/flavors", headers={"x-openstack-request-id": theirs}).status_code
        == 200
    )
    _method, context = client.calls[-1]
    assert context.global_request_id is None


def test_each_answer_is_one_line_in_the_log(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """A path cannot make two of it."""
    with caplog.at_level(logging.INFO, logger="armillary"):
        answer = api.get("/v2.1/flavors/a%0Ab")
    (record,) = [record for record in caplog.records if record.name.endswith("request_id")]
    assert record.getMessage().startswith(answer.headers["x-openstack-request-id"])
    assert "GET /v2.1/flavors/a%0Ab: 400 Bad Request" in record.getMessage()


def test_a_token_is_in_no_log_line(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    """Nor when it is refused."""
    with caplog.at_level(logging.DEBUG):
        api.get("/v2.1/flavors", token="swordfish:p1")
        api.get("/v2.1/flavors", token=":swordfish")
    assert not [record for record in caplog.records if ":p1" in record.getMessage()]
    assert not [record for record in caplog.records if ":swordfish" in record.getMessage()]
