"""Tests that no change of an aggregate takes servers to another availability zone."""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import RequestContext
from conductor.common.leases import Lease
from conductor.super_conductor.db import moves
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.endpoints.aggregates import AggregatesEndpoint
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.hosts.zone_guard import ANNOUNCED_SECONDS_MAX, ZoneGuard, check_zones
from objects.aggregate import AggregateChanges
from tests.builders import a_uuid
from tests.fixtures.control_plane import NOW, ControlPlane, a_selection, an_admin
from tests.fixtures.messages.direct_bus import Killed
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor
from tests.fixtures.waiting import seconds

USED, FREE = "cell1-host1", "cell1-host2"
ADMIN = an_admin()


@pytest.fixture
def plane(plane: ControlPlane) -> ControlPlane:
    """Return one whose first host is in zone east, and where servers go."""
    plane.map_hosts()
    api = endpoint(plane)
    api.create_aggregate(ADMIN, "e", "east")
    api.create_aggregate(ADMIN, "w", "west")
    api.create_aggregate(ADMIN, "fast", None)
    api.add_aggregate_host(ADMIN, id_of(plane, "e"), USED)
    for host in plane.scheduler.hosts:
        host.availability_zone = "east" if host.service_host == USED else "nova"
    return plane


def endpoint(plane: ControlPlane) -> AggregatesEndpoint:
    facts = MetadataPublisher(plane.database, plane.peers.scheduler, plane.peers.placement)
    return AggregatesEndpoint(plane.database, facts, guard(plane), plane.clock)


def guard(plane: ControlPlane) -> ZoneGuard:
    return ZoneGuard(plane.conf, plane.database, plane.peers.cells, plane.clock)


def id_of(plane: ControlPlane, name: str) -> str:
    with plane.database.reader() as session:
        (found,) = [one for one in aggregates.list_aggregates(session) if one.name == name]
    return str(found.id)


def set_zone(plane: ControlPlane, name: str, zone: str | None) -> None:
    changes = AggregateChanges(metadata={"availability_zone": zone})
    endpoint(plane).update_aggregate(ADMIN, id_of(plane, name), changes)


def add(plane: ControlPlane, name: str, host: str) -> None:
    endpoint(plane).add_aggregate_host(ADMIN, id_of(plane, name), host)


def remove(plane: ControlPlane, name: str, host: str) -> None:
    endpoint(plane).remove_aggregate_host(ADMIN, id_of(plane, name), host)


def zones(plane: ControlPlane) -> dict[str, str]:
    return plane.database.read(aggregates.zones_of_hosts)


def the_cell(plane: ControlPlane) -> CellConductor:
    return next(iter(plane.cells.values()))


def build_on(plane: ControlPlane, host: str, **request: Any) -> str:
    plane.scheduler.hosts = [one for one in plane.scheduler.hosts if one.service_host == host]
    (uuid,) = plane.build(**request)
    assert the_cell(plane).instances[uuid].host == host
    return uuid


CHANGES: dict[str, Callable[[ControlPlane], None]] = {
    "rename": lambda plane: set_zone(plane, "e", "north"),
    "unset": lambda plane: set_zone(plane, "e", None),
    "remove host": lambda plane: remove(plane, "e", USED),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_zone_stays_while_servers_are_on_its_hosts(
    change: Callable[[ControlPlane], None], plane: ControlPlane
) -> None:
    """Until the last is gone."""
    uuid = build_on(plane, USED)
    with pytest.raises(exception.ZoneInUseByServers, match=uuid):
        change(plane)
    assert zones(plane) == {USED: "east"}
    plane.delete(uuid)
    plane.settle()
    change(plane)
    assert zones(plane).get(USED) != "east"


@pytest.mark.parametrize(
    "change",
    [lambda plane: set_zone(plane, "fast", "west"), lambda plane: add(plane, "w", FREE)],
    ids=["set", "add"],
)
def test_a_used_host_of_the_default_zone_stays_there(
    change: Callable[[ControlPlane], None], plane: ControlPlane
) -> None:
    """Neither its aggregate gets a zone, nor does it go into one that has one."""
    build_on(plane, FREE)
    add(plane, "fast", FREE)
    with pytest.raises(exception.ZoneInUseByServers):
        change(plane)
    assert FREE not in zones(plane)


def test_what_leaves_the_zone_of_a_host_as_it_is_goes_on(plane: ControlPlane) -> None:
    """Other aggregates, of no zone or the same; the default zone by its name."""
    build_on(plane, USED)
    add(plane, "fast", USED)
    set_zone(plane, "fast", "east")
    remove(plane, "e", USED)
    assert zones(plane) == {USED: "east"}
    set_zone(plane, "w", "nova")
    add(plane, "w", FREE)


def test_a_selected_host_counts_before_its_cell_knows(plane: ControlPlane) -> None:
    """Its selection is stored, and the alternate's."""
    refused: list[exception.ZoneInUseByServers] = []

    def try_both(step: str) -> None:
        if "hand" in step and not refused:
            for host, name in ((USED, "e"), (FREE, "w")):
                change = remove if name == "e" else add
                with pytest.raises(exception.ZoneInUseByServers) as caught:
                    change(plane, name, host)
                refused.append(caught.value)

    plane.before_step = try_both
    plane.build()
    assert [one.kwargs["host"] for one in refused] == [USED, FREE]


def test_a_build_selected_for_a_former_zone_is_scheduled_again(plane: ControlPlane) -> None:
    """The zone changed between the scheduler's answer and storing it."""
    done: list[str] = []

    def change(step: str) -> None:
        if step.startswith("store selections") and not done:
            done.append(step)
            set_zone(plane, "e", "north")

    plane.before_step = change
    (uuid,) = plane.create()
    plane.workers.work()
    assert the_cell(plane).instances == {}
    for host in plane.scheduler.hosts:
        host.availability_zone = "north" if host.service_host == USED else "nova"
    plane.settle()
    plane.check(uuid)


def test_no_host_is_selected_while_its_cell_is_asked(plane: ControlPlane) -> None:
    """A build is scheduled again until the change is made, and goes by the new zone then."""
    cell, uuids = the_cell(plane), list[str]()
    cell_answers = cell.find_hosts_in_use

    def answer(context: RequestContext, hosts: list[str]) -> dict[str, str]:
        found = cell_answers(context, hosts)
        uuids.extend(plane.create())
        plane.workers.work()
        assert cell.instances == {}
        return found

    cell.find_hosts_in_use = answer  # type: ignore[method-assign]
    remove(plane, "e", USED)
    for host in plane.scheduler.hosts:
        host.availability_zone = "nova"
    plane.settle()
    plane.check(*uuids)


def test_a_change_ends_with_its_conductor(plane: ControlPlane) -> None:
    """Nothing of it was stored but that it may come, which holds up builds for a while."""

    def die(context: RequestContext, hosts: list[str]) -> dict[str, str]:
        raise Killed

    cell = the_cell(plane)
    answer, cell.find_hosts_in_use = cell.find_hosts_in_use, die  # type: ignore[method-assign]
    with pytest.raises(Killed):
        remove(plane, "e", USED)
    assert zones(plane) == {USED: "east"}
    cell.find_hosts_in_use = answer  # type: ignore[method-assign]
    (uuid,) = plane.create()
    plane.workers.work()
    assert cell.instances == {}
    plane.clock.advance(ANNOUNCED_SECONDS_MAX + 1)
    guard(plane).withdraw_old()
    plane.settle()
    plane.check(uuid)


def test_a_change_that_was_withdrawn_is_not_made(plane: ControlPlane) -> None:
    """Its cell took so long that hosts were selected again."""

    def answer(context: RequestContext, hosts: list[str]) -> dict[str, str]:
        plane.clock.advance(ANNOUNCED_SECONDS_MAX + 1)
        guard(plane).withdraw_old()
        return {}

    the_cell(plane).find_hosts_in_use = answer  # type: ignore[method-assign]
    with pytest.raises(exception.Unavailable, match="too long"):
        remove(plane, "e", USED)
    assert zones(plane) == {USED: "east"}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_refused_change_is_never_seen(
    change: Callable[[ControlPlane], None], plane: ControlPlane
) -> None:
    """Neither by other requests, whose changes stay, nor by builds afterwards."""
    cell, asked = the_cell(plane), []

    def answer(context: RequestContext, hosts: list[str]) -> dict[str, str]:
        asked.append(hosts)
        if len(asked) > 1:
            return {}
        assert zones(plane) == {USED: "east"}
        endpoint(plane).create_aggregate(ADMIN, "s", "south")
        add(plane, "s", FREE)
        set_zone(plane, "w", "far-west")
        return {USED: "late"}

    cell.find_hosts_in_use = answer  # type: ignore[method-assign]
    with pytest.raises(exception.ZoneInUseByServers, match="late"):
        change(plane)
    assert zones(plane) == {USED: "east", FREE: "south"}
    with plane.database.reader() as session:
        assert aggregates.zone_names(session) == {"east", "south", "far-west"}
    build_on(plane, USED)


def test_a_change_that_another_one_gave_an_effect_is_refused(plane: ControlPlane) -> None:
    """When the cell was asked, the host that has the server was not in the aggregate."""
    remove(plane, "e", USED)
    add(plane, "fast", FREE)
    for host in plane.scheduler.hosts:
        host.availability_zone = "nova"
    uuid = build_on(plane, USED)
    cell, asked = the_cell(plane), []
    cell_answers = cell.find_hosts_in_use

    def answer(context: RequestContext, hosts: list[str]) -> dict[str, str]:
        asked.append(hosts)
        if len(asked) == 1:
            add(plane, "fast", USED)
        return cell_answers(context, hosts)

    cell.find_hosts_in_use = answer  # type: ignore[method-assign]
    with pytest.raises(exception.ZoneInUseByServers, match=uuid):
        set_zone(plane, "fast", "north")
    assert zones(plane) == {}


def test_a_zone_stays_while_a_server_without_a_host_keeps_it(plane: ControlPlane) -> None:
    """It was shelved; its zone is where it is unshelved. The aggregate cannot be deleted either."""
    uuid = build_on(plane, USED, availability_zone="east")
    server = the_cell(plane).instances[uuid]
    server.host, server.vm_state = None, "shelved_offloaded"
    remove(plane, "e", USED)
    with pytest.raises(exception.ZoneKeptByServer, match=uuid):
        set_zone(plane, "e", None)
    with pytest.raises(exception.ZoneKeptByServer, match=uuid):
        endpoint(plane).delete_aggregate(ADMIN, id_of(plane, "e"))
    set_zone(plane, "w", "east")
    endpoint(plane).delete_aggregate(ADMIN, id_of(plane, "e"))


def test_nothing_changes_while_the_hosts_cell_is_silent(plane: ControlPlane) -> None:
    """It may have servers there."""
    plane.bus_of(the_cell(plane)).fail("find_hosts_in_use", exception.CellUnavailable(cell="c"))
    with pytest.raises(exception.Unavailable):
        remove(plane, "e", USED)
    assert zones(plane) == {USED: "east"}


def test_a_host_selected_for_a_move_counts_before_its_cell_knows(plane: ControlPlane) -> None:
    """The alternates, too."""
    uuid = build_on(plane, FREE)
    refused: list[str] = []

    def try_to_change(step: str) -> None:
        if step == "continue in cell":
            with pytest.raises(exception.ZoneInUseByServers, match=uuid):
                remove(plane, "e", USED)
            refused.append(step)

    plane.scheduler.hosts = [
        a_selection(node, the_cell(plane).uuid) for node in the_cell(plane).nodes
    ]
    plane.before_step = try_to_change
    plane.operate(uuid, "migrate", context=ADMIN)
    plane.workers.work()
    assert refused
    assert zones(plane) == {USED: "east"}


def test_a_move_selected_for_a_former_zone_is_scheduled_again(plane: ControlPlane) -> None:
    """The zone changed between the scheduler's answer and storing it."""
    uuid = build_on(plane, FREE)
    done: list[str] = []

    def change(step: str) -> None:
        if step == "store hosts of move" and not done:
            done.append(step)
            set_zone(plane, "e", "north")

    nodes = the_cell(plane).nodes
    plane.scheduler.hosts = [a_selection(node, the_cell(plane).uuid) for node in nodes]
    for host in plane.scheduler.hosts:
        host.availability_zone = "east" if host.service_host == USED else "nova"
    plane.before_step = change
    plane.operate(uuid, "migrate", context=ADMIN)
    plane.workers.work()
    assert the_cell(plane).instances[uuid].host == FREE
    for host in plane.scheduler.hosts:
        host.availability_zone = "north" if host.service_host == USED else "nova"
    plane.settle()
    assert the_cell(plane).instances[uuid].host == USED


class Crossing:
    """A selection of a host for a move, and a change that takes its zone, at the same moment.

    The one that is first keeps its transaction open until the other has ended, or for as long as
    one takes that is not locked out.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        plane.map_hosts()
        endpoint(plane).create_aggregate(ADMIN, "e", "east")
        add(plane, "e", USED)
        self.selection = plane.scheduler.hosts[0].with_values(availability_zone="east")
        self.move = moves.Move(
            a_uuid(), a_uuid(), the_cell(plane).uuid, "migrate", moves.MoveArguments(), ADMIN, 1,
            NOW,
        )  # fmt: skip
        lease = Lease(self.move.migration_uuid, "test", 0.0)
        plane.database.run_in_writer(moves.add, self.move, lease)
        self.is_open, self.has_other_ended = Event(), Event()

    def select(self, session: Session) -> None:
        check_zones(session, self.plane.conf, [self.selection])
        moves.store_hosts(session, self.move.migration_uuid, [USED])

    def change(self, session: Session) -> None:
        aggregates.remove_host(session, id_of(self.plane, "e"), USED, now=NOW)

    def run_select(self, write: Callable[[Session], None]) -> None:
        self.plane.database.run_in_writer(write)

    def run_change(self, write: Callable[[Session], None]) -> None:
        guard(self.plane).run(ADMIN, write)

    def slowly(self, write: Callable[[Session], None], *, rehearsals: int) -> Callable[..., None]:
        """Return a write whose transaction stays open; not yet while it is rehearsed."""
        calls = itertools.count()

        def act(session: Session) -> None:
            write(session)
            if next(calls) >= rehearsals:
                self.is_open.set()
                self.has_other_ended.wait(OPEN_SECONDS)

        return act


OPEN_SECONDS = 0.3


@pytest.mark.parametrize("first", ["selection", "change"])
def test_of_a_selection_and_a_change_at_the_same_moment_one_wins(
    any_plane: ControlPlane, first: str
) -> None:
    """On each engine the first: no server ends in a zone that its host has left."""
    crossing = Crossing(any_plane)
    if first == "selection":
        slow = partial(crossing.run_select, crossing.slowly(crossing.select, rehearsals=0))
        other = partial(crossing.run_change, crossing.change)
    else:
        slow = partial(crossing.run_change, crossing.slowly(crossing.change, rehearsals=1))
        other = partial(crossing.run_select, crossing.select)
    with ThreadPoolExecutor(1) as pool:
        begun = pool.submit(succeeds, slow)
        assert crossing.is_open.wait(seconds(10))
        has_other_succeeded = succeeds(other)
        crossing.has_other_ended.set()
        assert (begun.result(), has_other_succeeded) == (True, False)


def succeeds(act: Callable[[], object]) -> bool:
    """Return whether a change was made; it may lose to the other one, and not fail otherwise."""
    try:
        act()
    except (exception.ZoneInUseByServers, exception.Unavailable):
        return False
    return True
