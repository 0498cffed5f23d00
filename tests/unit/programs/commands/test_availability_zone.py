"""Availability zones on the command line."""

from __future__ import annotations

import pytest

from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture(autouse=True)
def zones(conductor: BuildingSuperConductor) -> None:
    """Have one zone with hosts in use and out of use, and one without."""
    hosts = {
        "host1": {"up": True, "disabled": False},
        "host2": {"up": True, "disabled": True},
        "host3": {"up": False, "disabled": False},
    }
    conductor.zones = [
        {"name": "east", "available": True, "hosts": hosts},
        {"name": "west", "available": False, "hosts": {}},
    ]


def test_zones_are_listed_for_everybody(armillary: Armillary) -> None:
    """Names and whether anything is there."""
    rows = armillary("availability", "zone", "list", "-f", "json", token="u1:p1").json
    assert rows == [
        {"Zone": "east", "State": "available"},
        {"Zone": "west", "State": "not available"},
    ]


def test_administrators_see_the_hosts(armillary: Armillary) -> None:
    """And which of them take new servers."""
    rows = armillary("availability", "zone", "list", "--long", "-f", "json").json
    assert rows[0]["Hosts"] == {"host1": "up", "host2": "not in use", "host3": "not in use"}
    assert rows[1]["Hosts"] == {}
