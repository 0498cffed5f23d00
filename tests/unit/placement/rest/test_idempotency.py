"""A POST with an Idempotency-Key is carried out once."""

from tests.fixtures.placement.placement_rest import PlacementApi

HEADERS = {"Idempotency-Key": "one"}


def test_a_provider_is_created_once(api: PlacementApi) -> None:
    """The repeat has the first answer, though the name is taken by now."""
    first = api.post("/resource_providers", {"name": "host1"}, headers=HEADERS)
    second = api.post("/resource_providers", {"name": "host1"}, headers=HEADERS)
    assert first.status_code == 200
    assert (second.status, second.json) == (first.status, first.json)
    assert second.headers["location"] == first.headers["location"]
    assert len(api.get("/resource_providers").json["resource_providers"]) == 1


def test_the_key_of_another_request_is_refused(api: PlacementApi) -> None:
    """With the API's own form of errors."""
    api.post("/resource_providers", {"name": "host2"}, headers=HEADERS)
    assert api.post("/resource_providers", {"name": "host3"}, headers=HEADERS).status_code == 422
