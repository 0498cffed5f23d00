"""Reading usage of the fleet and of single providers."""

from objects.allocations.allocation import ClassUsage, UsageTotals
from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider


def test_totals_count_what_is_there_now(engine: PlacementEngine) -> None:
    """A class without allocations is not listed; a provider without inventory counts."""
    big = a_provider(
        "big", inventories={"VCPU": {"total": 8, "reserved": 2, "allocation_ratio": 2.0}}
    )
    small = a_provider("small", inventories={"VCPU": {"total": 1}, "DISK_GB": {"total": 9}})
    engine.providers.set_providers([big, small, a_provider("bare", inventories={})])
    engine.claims.claim([a_claim(big["uuid"], 3), a_claim(small["uuid"], 1)])
    engine.providers.set_providers([{**small, "inventories": {"VCPU": {"total": 1}}}])
    assert engine.usages.get_totals() == UsageTotals(2, 3, {"VCPU": ClassUsage(4, 13)})


def test_an_enormous_ratio_does_not_overflow(engine: PlacementEngine) -> None:
    """Capacities are cut off far above what can be used."""
    inventories = {"VCPU": {"total": 2**31 - 1, "allocation_ratio": 3.4e38}}
    reports = [a_provider(f"host{number}", inventories=inventories) for number in range(4)]
    engine.providers.set_providers(reports)
    assert engine.usages.get_totals().resources["VCPU"].capacity == 2**64


def test_a_provider_shows_the_classes_it_has(engine: PlacementEngine) -> None:
    """Those of others are not its own."""
    disk = a_provider("disk", inventories={"DISK_GB": {"total": 9}})
    engine.providers.set_providers([a_provider("cpu"), disk])
    usages = engine.usages.get_provider_usages([disk["uuid"]])
    assert list(usages[disk["uuid"]]) == ["DISK_GB"]
