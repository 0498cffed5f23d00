"""Tests of building a server in one of several zones, whatever breaks on the way."""

import pytest

from armillary import exception
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from tests.fixtures.control_plane import a_user
from tests.fixtures.zones import Zone, root

__all__ = ["root"]


def show(root: Zone, uuid: str) -> Instance:
    return root.endpoint.get_server(a_user(), uuid)


def child(root: Zone, name: str) -> Zone:
    return next(zone for zone in root.all_zones() if zone.name == name)


def create(root: Zone, *entries: str, count: int = 1) -> list[str]:
    root.scheduler.zone_entries = root.entries(*entries)
    return root.create(count)


# The way it should go


def test_a_server_is_built_in_the_zone_of_the_first_entry(root: Zone) -> None:
    """It lives there, the origin keeps the way to it and nothing else."""
    (uuid,) = create(root, "eu:cell1-host2", "us:cell1-host1")
    root.walk()
    found = show(root, uuid)
    assert (found.vm_state, found.zone, found.host) == ("active", "eu", "cell1-host2")
    assert root.left() == []
    assert root.living(uuid) == [("eu", "active")]
    assert root.held() == 1


def test_a_zone_in_between_only_passes_on(root: Zone) -> None:
    """The server lives in the grandchild; its parent has no record of it."""
    (uuid,) = create(root, "eu/eu-1:cell1-host1")
    root.walk()
    assert show(root, uuid).zone == "eu/eu-1"
    assert root.living(uuid) == [("eu-1", "active")]
    with pytest.raises(exception.InstanceNotFound):
        show(child(root, "eu"), uuid)


def test_an_own_host_is_an_entry_like_any_other(root: Zone) -> None:
    """It is shown under its own name, as a server of this zone."""
    (uuid,) = create(root, ":cell1-host3", "us:cell1-host1")
    root.walk()
    found = show(root, uuid)
    assert (found.uuid, found.zone, found.host) == (uuid, None, "cell1-host3")


@pytest.mark.parametrize("failing", [1, 2, 3, 4])
@pytest.mark.sampled(every=2)
def test_the_first_entries_fail_and_the_next_one_gets_it(root: Zone, failing: int) -> None:
    """In the order of the list, also where one zone comes up again; nothing is left of the rest."""
    entries = ["eu:cell1-host1", ":cell1-host1", "eu:cell1-host2", ":cell1-host2", "us:cell1-host1"]
    for entry in entries[:failing]:
        name, _, host = entry.partition(":")
        child(root, name or "root").cell().failing_hosts.add(host)
    (uuid,) = create(root, *entries)
    root.walk()
    root.settle_all()
    winner, _, host = entries[failing].partition(":")
    found = show(root, uuid)
    assert (found.uuid, found.zone or "", found.host) == (uuid, winner, host)
    assert root.living(uuid) == [(winner or "root", "active")]
    assert root.held() == 1


def test_when_all_fail_the_reason_lists_the_attempts(root: Zone) -> None:
    """It is stored in cell0, with one error that says what was tried."""
    for zone in root.all_zones():
        zone.cell().failing_hosts = {"cell1-host1", "cell1-host2"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host2")
    root.walk()
    root.settle_all()
    assert root.places(uuid) == [CELL0_UUID]
    fault = show(root, uuid).fault
    assert fault is not None
    assert fault.details is not None
    assert fault.details.startswith("2 attempts failed, no further host is left. host ")
    assert "in zone eu: cell1-host1 is broken; host " in fault.details
    assert root.living(uuid) == []
    assert root.held() == 0


def test_several_servers_begin_at_different_entries(root: Zone) -> None:
    """More servers than entries go round; each lands somewhere once."""
    uuids = create(root, "eu:cell1-host1", "us:cell1-host1", count=5)
    root.walk()
    assert [show(root, uuid).zone for uuid in uuids] == ["eu", "us", "eu", "us", "eu"]
    assert root.held() == 5
