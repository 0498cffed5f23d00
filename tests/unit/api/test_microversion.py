"""Version 2.1 is served, and nothing else is pretended."""

from __future__ import annotations

import pytest

from tests.fixtures.http_api import Api, message

SERVED = [
    {},
    {"OpenStack-API-Version": "compute 2.1"},
    {"OpenStack-API-Version": "compute latest"},
    {"OpenStack-API-Version": "COMPUTE 2.1"},
    {"OpenStack-API-Version": "placement 1.39, compute 2.1"},
    {"OpenStack-API-Version": "placement 1.39"},
    {"X-OpenStack-Nova-API-Version": "2.1"},
    {"X-OpenStack-Nova-API-Version": "latest"},
    {"OpenStack-API-Version": "compute 2.1", "X-OpenStack-Nova-API-Version": "2.90"},
]
REFUSED = [
    ({"OpenStack-API-Version": "compute 2.2"}, 406),
    ({"OpenStack-API-Version": "compute 2.0"}, 406),
    ({"OpenStack-API-Version": "compute 2.90, placement 1.1"}, 406),
    ({"X-OpenStack-Nova-API-Version": "2.53"}, 406),
    ({"OpenStack-API-Version": "compute 3.1"}, 406),
    ({"OpenStack-API-Version": "compute"}, 400),
    ({"OpenStack-API-Version": "compute two"}, 400),
    ({"OpenStack-API-Version": "compute 2.01"}, 400),
    ({"X-OpenStack-Nova-API-Version": "2"}, 400),
]


@pytest.mark.parametrize("headers", SERVED, ids=str)
def test_the_version_that_is_served_is_served(headers: dict[str, str], api: Api) -> None:
    """Also without being asked for, and by either header."""
    answer = api.send("GET", "/v2.1/flavors", headers=headers)
    assert answer.status_code == 200
    assert answer.headers["OpenStack-API-Version"] == "compute 2.1"
    assert answer.headers["X-OpenStack-Nova-API-Version"] == "2.1"
    assert "OpenStack-API-Version" in answer.headers["Vary"]


@pytest.mark.parametrize(("headers", "status"), REFUSED, ids=str)
def test_another_version_is_refused(headers: dict[str, str], status: int, api: Api) -> None:
    """406 for one that is not served, 400 for a malformed one."""
    answer = api.send("GET", "/v2.1/flavors", headers=headers)
    assert answer.status_code == status
    assert "2.1" in message(answer)
