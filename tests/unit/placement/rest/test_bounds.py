"""Bodies that are too large, or of an unknown type, are refused."""

from pathlib import Path

import falcon
import pytest
from falcon import testing

from placement.engine import PlacementEngine
from placement.rest.app import BodyHeaders, Bounds
from tests.fixtures.placement.placement_rest import PlacementApi, detail, rest_conf

PROVIDERS = "/resource_providers"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def small(tmp_path: Path, engine: PlacementEngine) -> PlacementApi:
    """Return an API that takes 1,024 bytes of each."""
    bounds = {"rest_max_body_bytes": "1024", "rest_max_query_bytes": "1024"}
    return PlacementApi(rest_conf(tmp_path, placement=bounds), engine)


def test_a_large_body_is_refused(small: PlacementApi) -> None:
    """Before its sender is known."""
    result = small.post(PROVIDERS, {"name": "x" * 1024}, token=None)
    assert result.status_code == 413
    assert "at most 1024 are allowed" in detail(result)


def test_a_body_at_the_bound_is_taken(small: PlacementApi) -> None:
    """It is then held against its schema."""
    body = '{"name": "%s"}' % ("x" * 1012)
    assert len(body) == 1024
    result = small.send("POST", PROVIDERS, body=body, headers=JSON)
    assert result.status_code == 400


@pytest.mark.parametrize(("length", "status"), [(1024, 400), (1025, 414)])
def test_a_long_query_string_is_refused(small: PlacementApi, length: int, status: int) -> None:
    """One at the bound is looked at."""
    assert small.get(f"{PROVIDERS}?{'x' * length}").status_code == status


def test_a_body_without_a_length_is_refused(api: PlacementApi) -> None:
    """Its size would not be known."""
    chunked = {**JSON, "Transfer-Encoding": "chunked"}
    assert api.send("POST", PROVIDERS, headers=chunked).status_code == 411


def test_a_body_without_a_type_is_refused(api: PlacementApi) -> None:
    """Whatever it is."""
    result = api.send("POST", PROVIDERS, body="I want a provider", headers={"Content-Type": ""})
    assert result.status_code == 400
    assert "content-type header required" in detail(result)


@pytest.mark.parametrize("length", ["hi mom", "-1"])
def test_a_length_must_be_a_number(length: str) -> None:
    """Of bytes; some servers let the application find out."""
    request = falcon.Request({**testing.create_environ(), "CONTENT_LENGTH": length})
    Bounds(max_body_bytes=1024, max_query_bytes=1024).process_request(request, falcon.Response())
    with pytest.raises(falcon.HTTPError) as error:
        BodyHeaders().process_request(request, falcon.Response())
    assert error.value.description == "content-length header must be an integer"


def test_a_request_without_a_token_is_told_so_first(api: PlacementApi) -> None:
    """Whatever is wrong with its body: what is wrong is for those who may ask."""
    result = api.send("GET", "/resource_classes", token=None, body="[]")
    assert result.status_code == 401
