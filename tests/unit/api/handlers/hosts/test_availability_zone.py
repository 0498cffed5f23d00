"""Availability zones: names for all, hosts for administrators."""

import pytest

from objects.hosts.host_answers import AvailabilityZone, HostAvailability
from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/os-availability-zone"


@pytest.fixture(autouse=True)
def zones(conductor: SuperConductor) -> None:
    hosts = {
        "host1": HostAvailability(up=True, disabled=True, last_seen_up=builders.A_TIME),
        "host2": HostAvailability(up=True, disabled=False),
    }
    conductor.zones = [AvailabilityZone("north", hosts)]


def test_users_see_names_and_states(api: Api) -> None:
    """Hosts are null."""
    assert api.get(PATH, token=MEMBER).json["availabilityZoneInfo"] == [
        {"zoneName": "north", "zoneState": {"available": True}, "hosts": None}
    ]


def test_administrators_see_hosts(api: Api) -> None:
    """And whether each is up and in use, and when it was seen."""
    (zone,) = api.get(f"{PATH}/detail").json["availabilityZoneInfo"]
    service = {"available": True, "active": False, "updated_at": None}
    assert zone["hosts"] == {
        "host1": {"armillary-compute": {**service, "updated_at": "2030-01-31T12:00:00.000000"}},
        "host2": {"armillary-compute": {**service, "active": True}},
    }
