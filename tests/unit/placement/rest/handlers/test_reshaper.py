"""The reshaper over REST: its codes, its forms, its policy."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail

ME = "c0ffee00-0000-4000-8000-000000000001"


@pytest.fixture
def pair(engine: PlacementEngine) -> tuple[str, str]:
    """Return two providers: one of 8 vCPUs, of which 6 are claimed, and one without any."""
    full, bare = a_provider("full"), a_provider("bare", inventories={})
    engine.providers.set_providers([full, bare])
    engine.claims.claim([a_claim(full["uuid"], 6, consumer_uuid=ME)])
    return full["uuid"], bare["uuid"]


def reshape(api: PlacementApi, body: dict[str, Any], **more: Any) -> Any:
    return api.post("/reshaper", body, headers={"X-Roles": "service"}, **more)


def a_reshape(shapes: dict[str, tuple[int, dict[str, Any]]], held: str | None) -> dict[str, Any]:
    consumer = {
        "allocations": {held: {"resources": {"VCPU": 6}}},
        "project_id": "p1",
        "user_id": "u1",
        "consumer_generation": 1,
        "consumer_type": "INSTANCE",
    }
    return {
        "inventories": {
            uuid: {"resource_provider_generation": generation, "inventories": inventories}
            for uuid, (generation, inventories) in shapes.items()
        },
        "allocations": {ME: consumer} if held else {},
    }


def test_inventory_moves_with_its_allocations(api: PlacementApi, pair: tuple[str, str]) -> None:
    """What is not said about the inventory is its default."""
    full, bare = pair
    body = a_reshape({full: (2, {}), bare.upper(): (1, {"VCPU": {"total": 6}})}, bare)
    answer = reshape(api, body)
    assert (answer.status_code, answer.text) == (204, "")
    assert api.get(f"/resource_providers/{bare}/usages").json == {
        "resource_provider_generation": 4,
        "usages": {"VCPU": 6},
    }
    assert api.get(f"/resource_providers/{full}").json["generation"] == 3, "it has nothing left"


@pytest.mark.parametrize(
    ("generation", "held", "status", "code"),
    [(1, True, 409, "placement.concurrent_update"), (2, False, 409, "placement.inventory.inuse")],
    ids=["late", "in use"],
)
def test_conflicts_have_their_codes(
    api: PlacementApi, pair: tuple[str, str], generation: int, held: bool, status: int, code: str
) -> None:
    """Clients decide by them."""
    full, bare = pair
    shapes = {full: (generation, {}), bare: (1, {"VCPU": {"total": 6}})}
    answer = reshape(api, a_reshape(shapes, bare if held else None))
    assert (answer.status_code, check_error(answer)["code"]) == (status, code)


def test_what_is_not_there_is_the_callers_mistake(api: PlacementApi, pair: tuple[str, str]) -> None:
    """A provider has a code of its own, a class has none."""
    answer = reshape(api, a_reshape({a_uuid(): (0, {})}, None))
    assert answer.status_code == 400
    assert check_error(answer)["code"] == "placement.resource_provider.not_found"
    answer = reshape(api, a_reshape({pair[1]: (1, {"CUSTOM_X": {"total": 1}})}, None))
    assert (answer.status_code, "No such resource class CUSTOM_X" in detail(answer)) == (400, True)
    twice: dict[str, tuple[int, dict[str, Any]]] = {pair[0]: (2, {}), pair[0].upper(): (2, {})}
    assert "twice" in detail(reshape(api, a_reshape(twice, None)))


def test_it_is_about_one_provider_at_least(api: PlacementApi, pair: tuple[str, str]) -> None:
    """Allocations alone are written elsewhere."""
    assert reshape(api, a_reshape({}, pair[0])).status_code == 400


def test_it_is_there_from_1_30_on(api: PlacementApi, pair: tuple[str, str]) -> None:
    """Types of consumers come with 1.38."""
    body = a_reshape({pair[0]: (2, {"VCPU": {"total": 6}})}, pair[0])
    assert reshape(api, body, version="1.29").status_code == 404
    assert reshape(api, body, version="1.37").status_code == 400
    del body["allocations"][ME]["consumer_type"]
    assert reshape(api, body, version="1.30").status_code == 204


def test_it_is_for_services(api: PlacementApi, pair: tuple[str, str]) -> None:
    """An administrator who is none is refused."""
    headers = {"X-Roles": "admin"}
    assert api.post("/reshaper", a_reshape({}, None), headers=headers).status_code == 403
