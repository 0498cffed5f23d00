"""No request, however odd, gets a server error from the Placement REST API.

`make fuzz` sends 2,000, or `CASES`; `ARMILLARY_FUZZ_CASES` says how many otherwise,
`ARMILLARY_FUZZ_SEED` which ones; else the commit does.
"""

import os
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from placement.rest import openapi
from placement.rest.versions import MAX
from tests.conformance.placement_fuzz import LABELS, Variant, cases, routes_of, variants
from tests.fixtures.placement.placement_fuzz_world import World
from tests.fixtures.plugins import sampling

pytestmark = pytest.mark.sampled_file(every=3)

CASES = int(os.environ.get("ARMILLARY_FUZZ_CASES", "400" if sampling.TAKES_ALL else "200"))
SEED = int(os.environ.get("ARMILLARY_FUZZ_SEED", zlib.crc32(sampling.seed().encode())))
CHECKS = [not_a_server_error, status_code_conformance]
CHECKS_OF_CONTENT = [content_type_conformance, response_schema_conformance]
WRITING = ("POST", "PUT", "DELETE")
READ_BACK_EVERY = 5  # writes

# How many cases an operation is worth: most have nothing but a path, others much to get wrong.
WEIGHTS = {label: 6 if label.startswith(("POST", "PUT")) else 2 for label in LABELS}
WEIGHTS |= {label: 8 for label in LABELS if "candidates" in label}
WEIGHTS |= {"GET /resource_providers": 8, "GET /": 1, "GET /healthcheck": 1, "GET /openapi.json": 1}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    made = World(tmp_path_factory.mktemp("fuzz"))
    yield made
    made.close()


@pytest.fixture(scope="module")
def forms(world: World) -> dict[str, list[Variant]]:
    """Return all operations of our document, and of what it was in older versions."""
    return variants(world)


@pytest.mark.parametrize("label", LABELS)
def test_no_request_is_answered_with_a_server_error(
    world: World, forms: dict[str, list[Variant]], label: str
) -> None:
    """Every status is one that the document names; what is refused is so in the shape of errors."""
    wanted = -(-CASES * WEIGHTS[label] // sum(WEIGHTS.values()))
    sent = written = 0

    @seed(SEED)
    @settings(
        max_examples=wanted,
        database=None,
        derandomize=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases(forms[label]))
    def send(case: Case[Any]) -> None:
        nonlocal sent, written
        sent += 1
        response = case.call()
        has_content = bool(response.content) or response.status_code >= 400
        case.validate_response(response, checks=CHECKS + CHECKS_OF_CONTENT * has_content)
        assert "x-openstack-request-id" in response.headers
        if case.method in WRITING and response.status_code < 300:
            written += 1
            if written % READ_BACK_EVERY == 0:
                world.read_all()
            world.renew()

    try:
        send()
    finally:
        world.renew()
    assert sent >= wanted


def test_the_document_that_is_tried_is_the_one_that_is_served() -> None:
    """With every operation, in the newest version."""
    assert openapi.document(routes_of(MAX)) == openapi.document()


def test_every_version_is_tried(forms: dict[str, list[Variant]]) -> None:
    """With the fields and parameters that it had."""
    for label, found in forms.items():
        versions = [version for form in found for version in form.versions]
        assert versions, label
        assert versions[-1] == "1.39"
        assert len(set(versions)) == len(versions)
    assert [form.versions[0] for form in forms["PUT /allocations/{consumer_uuid}"]] == [
        "1.0", "1.8", "1.12", "1.28", "1.34", "1.38",
    ]  # fmt: skip
