"""Traits of providers over REST."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_provider
from tests.fixtures.placement.placement_rest import PlacementApi, check_error

AVX = "HW_CPU_X86_AVX"


@pytest.fixture
def path(engine: PlacementEngine) -> str:
    """Return the path of the traits of a provider of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return f"/resource_providers/{report['uuid']}/traits"


def a_body(generation: Any = 1, traits: Any = (AVX,)) -> dict[str, Any]:
    """Return what sets traits."""
    return {"resource_provider_generation": generation, "traits": traits}


def test_traits_are_set_shown_and_taken_away(api: PlacementApi, path: str) -> None:
    """By name, each once."""
    assert api.put("/traits/CUSTOM_B").status_code == 201
    answer = api.put(path, a_body(traits=[AVX, "CUSTOM_B", AVX]))
    assert answer.json == {"resource_provider_generation": 2, "traits": ["CUSTOM_B", AVX]}
    assert api.get(path).json == answer.json
    assert api.get("/traits?associated=true").json["traits"] == ["CUSTOM_B", AVX]
    assert api.delete("/traits/CUSTOM_B").status_code == 409
    assert api.delete(path).status_code == 204
    assert api.get(path).json == {"resource_provider_generation": 3, "traits": []}
    assert api.delete("/traits/CUSTOM_B").status_code == 204


BAD_BODIES = {
    "text": a_body(traits=AVX),
    "number": a_body(traits=[1]),
    "null": a_body(traits=[None]),
    "empty-name": a_body(traits=[""]),
    "long-name": a_body(traits=["X" * 256]),
    "unmade": a_body(traits=[AVX, "CUSTOM_UNMADE"]),
    "lower": a_body(traits=[AVX.lower()]),
    "generation-text": a_body("1"),
    "generation-true": a_body(True),
    "generation-fraction": a_body(1.5),
    "no-generation": {"traits": [AVX]},
    "unknown-field": {**a_body(), "more": 1},
    "list": [AVX],
}


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=list(BAD_BODIES))
def test_a_bad_body_changes_nothing(api: PlacementApi, path: str, body: Any) -> None:
    """Good names beside a bad one are not kept."""
    assert api.put(path, body).status_code == 400
    assert api.get(path).json == {"resource_provider_generation": 1, "traits": []}


@pytest.mark.parametrize("generation", [0, 2, -1, 10**300], ids=["old", "new", "negative", "huge"])
def test_another_generation_is_a_conflict(api: PlacementApi, path: str, generation: int) -> None:
    """With the code that clients look at."""
    answer = api.put(path, a_body(generation))
    assert (answer.status_code, check_error(answer)["code"]) == (409, "placement.concurrent_update")
    assert api.get(path).json["traits"] == []
