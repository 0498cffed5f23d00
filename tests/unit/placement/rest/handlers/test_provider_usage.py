"""Usages of providers over REST."""

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi


def test_each_class_that_a_provider_has_is_listed(
    api: PlacementApi, engine: PlacementEngine
) -> None:
    """Also those of which nothing is used."""
    report = a_provider(inventories={"VCPU": {"total": 8}, "DISK_GB": {"total": 9}})
    engine.providers.set_providers([report])
    engine.claims.claim([a_claim(report["uuid"], 3)])
    answer = api.get(f"/resource_providers/{report['uuid'].upper()}/usages", version="1.15")
    usages = {"VCPU": 3, "DISK_GB": 0}
    assert answer.json == {"resource_provider_generation": 2, "usages": usages}
    assert "last-modified" in answer.headers


@pytest.mark.parametrize("name", [a_uuid(), "me"], ids=["unknown", "no UUID"])
def test_a_provider_has_to_be_there(api: PlacementApi, name: str) -> None:
    """To be asked about."""
    assert api.get(f"/resource_providers/{name}/usages").status_code == 404
