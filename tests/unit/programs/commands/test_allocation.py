"""Allocations on the command line."""

from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_all_pages_are_listed(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """An audit leaves nothing out."""
    conductor.allocations = [
        {
            "consumer_uuid": builders.a_uuid(),
            "consumer_type": "INSTANCE",
            "project_id": "p1",
            "user_id": "u1",
            "provider_uuid": builders.a_uuid(),
            "provider_name": f"host{number}",
            "resources": {"VCPU": 1, "MEMORY_MB": 512},
        }
        for number in range(7)
    ]
    rows = armillary("allocation", "list", "-f", "json").json
    assert [row["Host"] for row in rows] == [f"host{number}" for number in range(7)]
    assert rows[0]["Resources"] == {"VCPU": 1, "MEMORY_MB": 512}


def test_no_allocation_is_an_empty_list(armillary: Armillary) -> None:
    """Programs can count it."""
    assert armillary("allocation", "list", "-f", "json").json == []


def test_totals_have_a_row_for_each_resource(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """What is held of what can be handed out."""
    conductor.totals = {"VCPU": {"used": 3, "capacity": 28}, "DISK_GB": {"used": 1, "capacity": 9}}
    rows = armillary("allocation", "list", "--totals", "-f", "json").json
    assert rows == [
        {"Resource class": "DISK_GB", "Used": 1, "Capacity": 9},
        {"Resource class": "VCPU", "Used": 3, "Capacity": 28},
    ]
