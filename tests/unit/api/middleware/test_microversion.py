"""Versions 2.1 to 2.96 are served, and nothing else is pretended."""

import pytest

from tests.fixtures.http_api import Api, message

SERVED = [
    ({}, "2.1"),
    ({"OpenStack-API-Version": "compute 2.1"}, "2.1"),
    ({"OpenStack-API-Version": "compute latest"}, "2.96"),
    ({"OpenStack-API-Version": "COMPUTE 2.47"}, "2.47"),
    ({"OpenStack-API-Version": "placement 1.39, compute 2.53"}, "2.53"),
    ({"OpenStack-API-Version": "placement 1.39"}, "2.1"),
    ({"OpenStack-API-Version": "compute"}, "2.1"),
    ({"X-OpenStack-Nova-API-Version": "2.79"}, "2.79"),
    ({"X-OpenStack-Nova-API-Version": "latest"}, "2.96"),
    ({"OpenStack-API-Version": "compute 2.1", "X-OpenStack-Nova-API-Version": "2.90"}, "2.1"),
]
REFUSED = [
    ({"OpenStack-API-Version": "compute 2.97"}, 406),
    ({"OpenStack-API-Version": "compute 2.0"}, 406),
    ({"OpenStack-API-Version": "compute 2.100, placement 1.1"}, 406),
    ({"X-OpenStack-Nova-API-Version": "2.97"}, 406),
    ({"OpenStack-API-Version": "compute 3.1"}, 406),
    ({"OpenStack-API-Version": "compute two"}, 400),
    ({"OpenStack-API-Version": "compute 2.01"}, 400),
    ({"X-OpenStack-Nova-API-Version": "2"}, 400),
]


@pytest.mark.parametrize(("headers", "version"), SERVED, ids=str)
def test_the_version_that_is_asked_for_is_served(
    headers: dict[str, str], version: str, api: Api
) -> None:
    """By either header; the first one if none is asked for."""
    answer = api.send("GET", "/v2.1/flavors", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["OpenStack-API-Version"] == f"compute {version}"
    assert answer.headers["X-OpenStack-Nova-API-Version"] == version
    assert "OpenStack-API-Version" in answer.headers["Vary"]


@pytest.mark.parametrize(("headers", "status"), REFUSED, ids=str)
def test_another_version_is_refused(headers: dict[str, str], status: int, api: Api) -> None:
    """406 for one that is not served, 400 for a malformed one."""
    answer = api.send("GET", "/v2.1/flavors", headers=headers)
    assert answer.status_code == status
    assert "2.96" in message(answer)
