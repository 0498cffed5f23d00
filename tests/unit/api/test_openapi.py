"""The OpenAPI document: whole, valid, and printed by a command."""

import json
import subprocess
import sys
from typing import Any

import jsonschema
import openapi_spec_validator
import pytest

from api import openapi
from api.routes import ROUTES
from api.versions import MICROVERSIONS
from armillary.http import openapi as openapi_of
from armillary.http.dispatch import actions_of
from armillary.http.openapi import operation_id
from armillary.http.validation import by_version
from tests.fixtures import waiting

pytestmark = pytest.mark.sampled_tests(every=3)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    return openapi.document()


def test_it_is_valid(document: dict[str, Any]) -> None:
    """By the rules of OpenAPI 3.1."""
    openapi_spec_validator.validate(json.loads(json.dumps(document)))


def test_every_route_is_in_it(document: dict[str, Any]) -> None:
    """Path by path, method by method, parameter by parameter."""
    described = {
        (path, name.upper())
        for path, item in document["paths"].items()
        for name in item
        if name != "parameters"
    }
    assert described == {(path, name) for path, methods in ROUTES.items() for name in methods}


def test_bodies_and_queries_are_described(document: dict[str, Any]) -> None:
    """By the very schemas that check them."""
    assert set(document["paths"]) == set(ROUTES) != set()
    for path, methods in ROUTES.items():
        for name, method in methods.items():
            operation = document["paths"][path][name.lower()]
            bodies = [action.body for action in actions_of(method) if action.body is not None]
            assert ("requestBody" in operation) == bool(bodies)
            (first, *_) = actions_of(method)
            parameters = {parameter["name"] for parameter in operation["parameters"]}
            query = openapi_of.newest(first.query, MICROVERSIONS.maximum)
            assert parameters == set(query.get("properties", {}))
            assert {str(action.status) for action in actions_of(method)} <= set(
                operation["responses"]
            )


def test_every_action_says_what_it_does(document: dict[str, Any]) -> None:
    """In a sentence."""
    assert document["paths"]
    for item in document["paths"].values():
        for name, operation in item.items():
            if name != "parameters":
                assert operation["summary"].endswith(".")


def test_what_is_public_needs_no_token(document: dict[str, Any]) -> None:
    """And nothing else."""
    public = {
        path
        for path, item in document["paths"].items()
        for name, operation in item.items()
        if name != "parameters" and operation.get("security") == []
    }
    assert public == {
        "/",
        "/healthcheck",
        "/healthcheck/live",
        "/v2",
        "/v2.1",
        "/v2.1/armillary/console-grant",
        "/v2.1/openapi.json",
    }


@pytest.mark.parametrize(
    "action",
    [action for methods in ROUTES.values() for m in methods.values() for action in actions_of(m)],
    ids=operation_id,
)
@pytest.mark.sampled(every=4)
def test_all_schemas_are_schemas(action: Any) -> None:
    """Of draft 2020-12."""
    for schemas in (action.query, action.body, action.answer):
        for schema in by_version(schemas).values():
            jsonschema.Draft202012Validator.check_schema(schema or {})


def test_the_command_prints_it() -> None:
    """For tools that make clients of it."""
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "api.openapi"], capture_output=True, check=True,
        timeout=waiting.seconds(60),
    )  # fmt: skip
    assert json.loads(printed.stdout)["paths"].keys() == ROUTES.keys()
