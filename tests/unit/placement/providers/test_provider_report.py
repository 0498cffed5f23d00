"""Reports of providers: what they make of what is stored."""

from typing import Any

import pytest

from armillary import exception
from placement.providers.inventory import Inventory
from placement.providers.provider_report import CurrentProvider, facts_after
from tests.builders import a_provider

UUID = "c0ffee00-0000-4000-8000-000000000001"
EIGHT = Inventory(8, 0, 1, 8, 1, 1.0)


def a_fact(**values: Any) -> CurrentProvider:
    defaults = {"name": "host1", "inventories": {"VCPU": EIGHT}, "traits": frozenset()}
    return CurrentProvider(**{"uuid": UUID, "id": 1, "generation": 3, **defaults, **values})


def report(**values: Any) -> dict[str, Any]:
    return a_provider(uuid=UUID, **values)


def test_a_first_report_is_taken_as_it_is() -> None:
    """Class by class, trait by trait."""
    assert facts_after(report(traits=["HW_CPU_X86_AVX"]), None) == a_fact(
        traits=frozenset({"HW_CPU_X86_AVX"})
    )


def test_the_same_report_again_is_not_a_change() -> None:
    """Agents repeat themselves."""
    assert facts_after(report(), a_fact()) == a_fact()


def test_traits_that_were_the_reporters_own_go() -> None:
    """Those that it manages and does not report any more."""
    present = a_fact(traits=frozenset({"HW_CPU_X86_AVX", "CUSTOM_MINE"}))
    managed = ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX2", "CUSTOM_MINE"]
    after = facts_after(report(traits=["HW_CPU_X86_AVX2"], managed_traits=managed), present)
    assert after.traits == {"HW_CPU_X86_AVX2"}


def test_traits_of_other_clients_survive() -> None:
    """Standard ones, too: only those that the reporter manages are its own to remove."""
    present = a_fact(traits=frozenset({"CUSTOM_MINE", "CUSTOM_YOURS", "HW_NIC_SRIOV"}))
    after = facts_after(report(managed_traits=["CUSTOM_MINE"]), present)
    assert after.traits == {"CUSTOM_YOURS", "HW_NIC_SRIOV"}


def test_a_managed_trait_that_is_reported_stays() -> None:
    """To manage a trait is not to remove it."""
    present = a_fact(traits=frozenset({"CUSTOM_MINE"}))
    after = facts_after(report(traits=["CUSTOM_MINE"], managed_traits=["CUSTOM_MINE"]), present)
    assert after.traits == {"CUSTOM_MINE"}


def test_a_null_ratio_keeps_the_present_one() -> None:
    """An operator may have changed it."""
    present = a_fact(inventories={"VCPU": Inventory(8, 0, 1, 8, 1, 16.0)})
    after = facts_after(
        report(inventories={"VCPU": {"total": 9, "allocation_ratio": None}}), present
    )
    assert after.inventories["VCPU"] == Inventory(9, 0, 1, 9, 1, 16.0)


def test_a_class_in_use_cannot_go() -> None:
    """An allocation would be left without an inventory."""
    with pytest.raises(exception.InventoryInUse, match="VCPU"):
        facts_after(report(inventories={}), a_fact(used=frozenset({"VCPU"})))


def test_a_class_not_in_use_may_go() -> None:
    """The report is the whole truth."""
    assert facts_after(report(inventories={}), a_fact()).inventories == {}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"uuid": "host1"}, "uuid must be a UUID"),
        ({"uuid": None}, "uuid must be a UUID"),
        ({"name": ""}, "name must have 1 to 200"),
        ({"name": "x" * 201}, "name must have 1 to 200"),
        ({"name": None}, "name must have 1 to 200"),
        ({"inventories": []}, "inventories must be an object"),
        ({"inventories": {"CPUS": {"total": 1}}}, "no resource class CPUS"),
        ({"inventories": {"VCPU": 8}}, "VCPU .* expected an object, not 8"),
        ({"traits": ["FAST"]}, "traits: no trait FAST exists"),
        ({"traits": "FAST"}, "traits must be a list"),
        ({"traits": [None]}, "traits: no trait None exists"),
        ({"managed_traits": [7]}, "managed_traits: no trait 7 exists"),
        ({"colour": "red"}, "unknown field colour"),
    ],
)
def test_a_report_that_makes_no_sense_is_refused_by_name(
    values: dict[str, Any], words: str
) -> None:
    """The error says which field and why."""
    with pytest.raises(exception.Invalid, match=words):
        facts_after({**report(), **values}, None)


@pytest.mark.parametrize("field", ["uuid", "name", "inventories", "traits"])
def test_a_report_has_to_be_complete(field: str) -> None:
    """What is left out is named."""
    incomplete = {key: value for key, value in report().items() if key != field}
    with pytest.raises(exception.Invalid, match=f"{field} is missing"):
        facts_after(incomplete, None)
