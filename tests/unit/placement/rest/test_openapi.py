"""The OpenAPI document says what the newest version takes."""

import json
import re
from typing import Any

import pytest
from openapi_spec_validator import validate

from placement.rest import openapi
from placement.rest.routes import ROUTES
from tests.fixtures.placement.placement_rest import PlacementApi

DOCUMENT = openapi.document()
OPERATIONS = [(path, method) for path, methods in ROUTES.items() for method in methods]


def operation(path: str, method: str) -> dict[str, Any]:
    return dict(DOCUMENT["paths"][path][method.lower()])


def test_it_is_a_valid_document() -> None:
    """By the standard's own schema."""
    validate(DOCUMENT)


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_is_described(path: str, method: str) -> None:
    """By the first line of its handler's docstring, and the policy that guards it."""
    found = operation(path, method)
    assert found["summary"]
    assert found.get("x-policy") == ROUTES[path][method].rule


def test_every_operation_has_a_name_of_its_own() -> None:
    """Clients are generated from it."""
    names = [operation(path, method)["operationId"] for path, method in OPERATIONS]
    assert len(set(names)) == len(names)


def test_patterns_are_those_of_every_language() -> None:
    """Python's end of a text means nothing elsewhere."""
    assert not re.search(r"\\\\Z", json.dumps(DOCUMENT))


def test_a_body_is_that_of_the_newest_version() -> None:
    """Also where it was another one before."""
    body = operation("/resource_providers/{uuid}/aggregates", "PUT")["requestBody"]
    properties = body["content"]["application/json"]["schema"]["properties"]
    assert set(properties) == {"aggregates", "resource_provider_generation"}


def test_what_takes_no_body_any_more_has_none() -> None:
    """Resource classes are named in the path since 1.7."""
    assert "requestBody" not in operation("/resource_classes/{name}", "PUT")


def test_parameters_with_a_suffix_are_one_object() -> None:
    """OpenAPI has no other way to say it."""
    parameters = operation("/allocation_candidates", "GET")["parameters"]
    (groups,) = [found for found in parameters if found["name"] == "groups"]
    assert (groups["style"], groups["explode"]) == ("form", True)
    assert groups["schema"]["patternProperties"]


def test_it_is_served(api: PlacementApi) -> None:
    """To everybody."""
    assert api.get("/openapi.json", token=None).json == json.loads(json.dumps(DOCUMENT))
