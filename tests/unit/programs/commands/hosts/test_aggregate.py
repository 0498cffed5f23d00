"""Aggregates on the command line."""

import pytest

from objects.hosts.host_answers import AvailabilityZone, HostAvailability
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


@pytest.fixture(autouse=True)
def aggregates(conductor: BuildingSuperConductor) -> None:
    """Have two aggregates and one host."""
    conductor.aggregates = [
        builders.an_aggregate("ssd", id=1, metadata={"fast": "yes"}),
        builders.an_aggregate("gpu", id=2, hosts=["host1"]),
    ]
    conductor.services = [builders.a_service("host1")]


def test_an_aggregate_is_created(armillary: Armillary) -> None:
    """With its zone."""
    made = armillary("aggregate", "create", "rack1", "--zone", "east", "-f", "json").json
    assert made["name"] == "rack1"
    assert made["availability_zone"] == "east"


def test_aggregates_are_listed(armillary: Armillary) -> None:
    """With hosts and properties."""
    rows = armillary("aggregate", "list", "-f", "json").json
    assert [(row["Name"], row["Hosts"]) for row in rows] == [("ssd", []), ("gpu", ["host1"])]


@pytest.mark.parametrize("name", ["name", "id", "uuid"])
def test_an_aggregate_is_shown_by_any_of_its_names(
    name: str, armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The number is an id, too."""
    wanted = str(getattr(conductor.aggregates[0], name))
    assert armillary("aggregate", "show", wanted, "-f", "json").json["name"] == "ssd"


def test_an_aggregate_is_changed(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """Name, zone and properties in one command."""
    ended = armillary(
        "aggregate", "set", "ssd", "--name", "nvme", "--zone", "west", "--property", "new=1",
        "--no-property", "fast",
    )  # fmt: skip
    assert ended.code == 0
    assert conductor.aggregates[0].name == "nvme"
    assert conductor.aggregates[0].metadata == {"availability_zone": "west", "new": "1"}


def test_a_change_that_is_none_is_wrong_usage(armillary: Armillary) -> None:
    """Nothing is sent."""
    assert armillary("aggregate", "set", "ssd").code == 2


def test_hosts_go_in_and_out(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """The answer shows the members."""
    words = ("aggregate", "add", "host", "ssd", "host1", "-f", "json")
    assert armillary(*words).json["hosts"] == ["host1"]
    words = ("aggregate", "remove", "host", "ssd", "host1", "-f", "json")
    assert armillary(*words).json["hosts"] == []


def test_aggregates_are_deleted(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """One that has hosts is not."""
    assert armillary("aggregate", "delete", "ssd").code == 0
    ended = armillary("aggregate", "delete", "gpu")
    assert ended.code == 1
    assert "HTTP 400" in ended.err
    assert [aggregate.name for aggregate in conductor.aggregates] == ["gpu"]


@pytest.fixture(autouse=True)
def zones(conductor: BuildingSuperConductor) -> None:
    """Have one zone with hosts in use and out of use, and one without."""
    hosts = {
        "host1": HostAvailability(up=True, disabled=False),
        "host2": HostAvailability(up=True, disabled=True),
        "host3": HostAvailability(up=False, disabled=False),
    }
    conductor.zones = [AvailabilityZone("east", hosts), AvailabilityZone("west", {})]


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


def test_hosts_of_an_aggregate_fetch_images(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """By id or name, each once."""
    conductor.images = [builders.an_image("one"), builders.an_image("two")]
    one, two = (image.id for image in conductor.images)
    assert armillary("aggregate", "cache", "image", "gpu", "two", one, two).code == 0
    assert conductor.images_to_cache == [("gpu", [two, one])]
    assert armillary("aggregate", "cache", "image", "gpu", "three").code != 0
