"""Tests of which hosts count as used: by instances, builds that go on there, and moves."""

import uuid

import pytest

from conductor.cell_conductor.hosts import hosts_in_use
from objects.hosts.host_answers import ZoneUse
from tests.fixtures.cell import Cell, a_build_request


@pytest.fixture
def cell(cell: Cell) -> Cell:
    """Return one with two hosts."""
    for host in "ab":
        cell.add_agent(host)
    return cell


def in_use(cell: Cell, *hosts: str) -> dict[str, str]:
    return cell.database.read(hosts_in_use.find, hosts)


def an_active(cell: Cell, host: str) -> str:
    request = a_build_request(host)
    cell.hand_over(request)
    cell.agents[host].work()
    cell.settle()
    return request.instance_uuid


def test_the_hosts_of_a_build_are_used_with_its_alternates(cell: Cell) -> None:
    """It may go on there; once it runs, only its own host is used."""
    request = a_build_request("a", "b")
    cell.hand_over(request)
    assert in_use(cell, "a", "b", "c") == dict.fromkeys(["a", "b"], request.instance_uuid)
    cell.agents["a"].work()
    cell.settle()
    assert in_use(cell, "a", "b") == {"a": request.instance_uuid}


def test_both_hosts_of_a_move_are_used_until_it_is_confirmed(cell: Cell) -> None:
    """A resize that waits for its confirmation may still be reverted."""
    moved, migration = an_active(cell, "a"), str(uuid.uuid4())
    cell.operate(moved, "migrate", migration_uuid=migration, migration_type="migration")
    cell.schedule(moved, migration, "b")
    work(cell)
    assert cell.get(moved).vm_state == "resized"
    assert in_use(cell, "a", "b") == {"a": moved, "b": moved}
    cell.operate(moved, "confirm_resize")
    work(cell)
    assert in_use(cell, "a", "b") == {"b": moved}


def test_the_alternates_of_a_move_are_used_while_it_may_go_there(cell: Cell) -> None:
    """Until it has ended."""
    moved, migration = an_active(cell, "a"), str(uuid.uuid4())
    cell.operate(moved, "migrate", migration_uuid=migration, migration_type="migration")
    cell.schedule(moved, migration, "b", "c")
    assert in_use(cell, "c") == {"c": moved}
    work(cell)
    assert in_use(cell, "b", "c") == {"b": moved}


def test_instances_are_counted_by_host_and_zone(cell: Cell) -> None:
    """With one of each pair as an example."""
    uuids = sorted([an_active(cell, "a"), an_active(cell, "a")])
    with cell.database.reader() as session:
        assert hosts_in_use.list_zone_uses(session) == [ZoneUse("a", "zone-of-a", 2, uuids[0])]


def work(cell: Cell) -> None:
    """Let both agents do what there is, and the cell what follows."""
    while any(agent.is_busy for agent in cell.agents.values()):
        for agent in cell.agents.values():
            agent.work()
        cell.recover()
