"""Rules for caches between clients and the API."""

import pytest

from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2.1/servers", 200),
        ("/v2.1/os-keypairs", 200),
        ("/v2.1/servers/x", 404),
        ("/v2.1/os-services", 403),
        ("/v2.1/nothing", 404),
    ],
)
def test_a_cache_shows_no_project_the_answer_of_another(
    path: str, status: int, api: Api, conductor: SuperConductor
) -> None:
    """It does not know the header that the answer depends on; refusals are not kept, either."""
    answer = api.get(path, token=MEMBER)
    assert answer.status_code == status
    assert answer.headers["cache-control"] == "private, no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_answer_with_rules_of_its_own_keeps_them(api: Api, conductor: SuperConductor) -> None:
    """The console's browser asks again whether its copy is current."""
    answer = api.get("/v2.1/armillary/fleet")
    assert answer.headers["cache-control"] == "private, no-cache"
