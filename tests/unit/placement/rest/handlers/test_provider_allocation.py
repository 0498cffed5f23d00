"""Allocations of providers over REST."""

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi


@pytest.mark.parametrize("version", ["1.27", "1.28"])
def test_holders_are_listed(api: PlacementApi, engine: PlacementEngine, version: str) -> None:
    """With the generation of the provider, and with theirs from 1.28 on."""
    report = a_provider()
    engine.providers.set_providers([report])
    path = f"/resource_providers/{report['uuid'].upper()}/allocations"
    nothing = {"allocations": {}, "resource_provider_generation": 1}
    assert api.get(path, version=version).json == nothing
    claim = a_claim(report["uuid"], 3)
    engine.claims.claim([claim])
    held = {"resources": {"VCPU": 3}}
    if version == "1.28":
        held["consumer_generation"] = 1  # type: ignore[assignment]
    answer = api.get(path, version=version)
    assert answer.json == {
        "allocations": {claim.consumer_uuid: held},
        "resource_provider_generation": 2,
    }
    assert answer.headers["cache-control"] == "no-cache"
    assert "last-modified" in answer.headers


@pytest.mark.parametrize("name", [a_uuid(), "me"], ids=["unknown", "no UUID"])
def test_a_provider_has_to_be_there(api: PlacementApi, name: str) -> None:
    """To be asked about."""
    assert api.get(f"/resource_providers/{name}/allocations").status_code == 404
