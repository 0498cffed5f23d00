"""Lists of servers are joined from all places, paged and sorted; each server is in one once."""

from typing import Any

import oslo_messaging
import pytest

from armillary import exception
from armillary.context import RequestContext
from objects.instance import Instance
from objects.instances.server_filters import ServerFilters
from objects.instances.server_order import SortKey
from tests import builders
from tests.fixtures.control_plane import ControlPlane, a_user, an_admin

NO_HOST = exception.NoValidHost(reason="2 of 2 hosts lack VCPU")
ALL = ServerFilters()
TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


def listed(plane: ControlPlane, limit: int = 100, **filters: Any) -> list[str]:
    page = plane.lists.list_servers(
        a_user(), filters=ServerFilters(**filters), limit=limit, marker=None
    )
    return [one.uuid for one in page.instances]


def test_a_list_merges_all_places(plane: ControlPlane) -> None:
    """Build requests, two cells and cell0, newest first."""
    plane.add_cell("cell2")
    in_cells = plane.build(4)
    plane.clock.advance(10)
    plane.scheduler.error = NO_HOST
    failed = plane.build()
    plane.clock.advance(10)
    waiting = plane.create()
    assert listed(plane) == waiting + failed + sorted(in_cells, reverse=True)


def test_pages_hold_each_server_once(plane: ControlPlane) -> None:
    """Also when all were made in the same second."""
    plane.add_cell("cell2")
    uuids = plane.build(7) + plane.create(4)
    seen: list[str] = []
    marker: str | None = None
    while True:
        page = plane.lists.list_servers(a_user(), filters=ALL, limit=3, marker=marker).instances
        if not page:
            break
        seen += [one.uuid for one in page]
        marker = page[-1].uuid
    assert seen == sorted(uuids, reverse=True)


@pytest.mark.parametrize("is_descending", [True, False], ids=["descending", "ascending"])
def test_sorted_pages_are_in_order_across_all_places(
    plane: ControlPlane, is_descending: bool
) -> None:
    """Build requests, two cells and cell0; servers with equal values are newest first."""
    plane.add_cell("cell2")
    built = plane.build(5)
    plane.scheduler.error = NO_HOST
    uuids = [*built, *plane.build(2), *plane.create(3)]
    sort = [SortKey("launch_index", is_descending), SortKey("vm_state", not is_descending)]
    filters = ServerFilters(sort=sort)
    seen: list[Instance] = []
    marker: str | None = None
    while page := plane.lists.list_servers(
        a_user(), filters=filters, limit=2, marker=marker
    ).instances:
        seen += page
        marker = page[-1].uuid
    assert sorted(one.uuid for one in seen) == sorted(uuids)
    by_state = sorted(seen, key=lambda one: one.vm_state, reverse=not is_descending)
    ordered = sorted(by_state, key=lambda one: one.launch_index, reverse=is_descending)
    places = [(one.launch_index, one.vm_state) for one in seen]
    assert places == [(one.launch_index, one.vm_state) for one in ordered]


def test_a_server_being_built_is_found_by_its_settings(plane: ControlPlane) -> None:
    """As it will be found in its cell."""
    waiting = plane.create()
    assert listed(plane, equal={"launch_index": 0, "locked": 0}) == waiting
    assert listed(plane, equal={"key_name": "mine"}) == []
    assert listed(plane, tags=["a"]) == []
    assert listed(plane, ip="192") == []


def test_a_server_on_its_way_to_its_cell_is_listed_once(plane: ControlPlane) -> None:
    """The cell stored it and the mapping is still to come: it is a build request yet."""
    (cell,) = plane.cells.values()
    uuids = plane.create(2)
    seen: list[list[str]] = []
    cell.before_answer = lambda: seen.append(listed(plane))
    plane.workers.work()
    assert seen == [sorted(uuids, reverse=True)]


def test_a_server_deleted_on_its_way_is_not_listed(plane: ControlPlane) -> None:
    """Though its cell has it already."""
    (cell,) = plane.cells.values()
    gone, kept = plane.create(2)
    seen: list[list[str]] = []

    def delete_and_list() -> None:
        plane.delete(gone)
        seen.append(listed(plane))

    cell.before_answer = delete_and_list
    plane.workers.work()
    assert seen == [[kept]]


def test_hidden_servers_do_not_make_a_page_short(plane: ControlPlane) -> None:
    """What is left out is made up for from further down."""
    (cell,) = plane.cells.values()
    uuids = sorted(plane.build(5), reverse=True)
    stray = builders.an_instance(uuid="ffffffff" + uuids[0][8:], created_at=None)
    stray.created_at = cell.instances[uuids[0]].created_at
    cell.instances[stray.uuid] = stray
    assert listed(plane, limit=3) == uuids[:3]


def test_a_silent_cell_is_left_out_and_named(plane: ControlPlane) -> None:
    """The others are listed."""
    other = plane.add_cell("cell2")
    uuids = plane.build(4)
    plane.bus_of(other).fail("list_instances", TIMEOUT)
    page = plane.lists.list_servers(a_user(), filters=ALL, limit=10, marker=None)
    assert page.down_cells == ["cell2"]
    assert {one.uuid for one in page.instances} == set(uuids) - set(other.instances)


def test_a_cell_that_answers_with_an_error_is_left_out_and_named(plane: ControlPlane) -> None:
    """Its database may be away."""
    other = plane.add_cell("cell2")
    other.error = RuntimeError("the database is unreachable")
    page = plane.lists.list_servers(a_user(), filters=ALL, limit=10, marker=None)
    assert page.down_cells == ["cell2"]


def test_a_list_is_of_the_own_project(plane: ControlPlane) -> None:
    """An administrator may ask for all."""
    mine = plane.build()
    theirs = plane.build(context=a_user("p2"))
    assert listed(plane) == mine
    page = plane.lists.list_servers(
        an_admin(), filters=ServerFilters(all_projects=True), limit=10, marker=None
    )
    assert {one.uuid for one in page.instances} == {*mine, *theirs}


def test_who_has_no_project_lists_no_servers(plane: ControlPlane) -> None:
    """A missing project does not stand for all of them."""
    plane.build()
    without = RequestContext(user_id="u1", roles=["member"])
    page = plane.lists.list_servers(without, filters=ALL, limit=10, marker=None)
    assert page.instances == []


def test_only_an_administrator_lists_all_projects(plane: ControlPlane) -> None:
    """Others are told so."""
    with pytest.raises(exception.Forbidden):
        listed(plane, all_projects=True)


def test_filters_hold_in_every_place(plane: ControlPlane) -> None:
    """Name, status, host, reservation."""
    (active,) = plane.build(name="blue")
    plane.scheduler.error = NO_HOST
    (error,) = plane.build(name="blue")
    (waiting,) = plane.create(name="blue")
    plane.create(name="red")
    assert set(listed(plane, name="blu")) == {active, error, waiting}
    assert listed(plane, name="blu", status="ACTIVE") == [active]
    assert listed(plane, name="blu", status="ERROR") == [error]
    assert listed(plane, name="blu", status="BUILD") == [waiting]
    assert listed(plane, host="cell1-host1") == [active]
    reservation = plane.servers.get_server(a_user(), waiting).reservation_id
    assert listed(plane, reservation_id=reservation) == [waiting]


def test_an_unknown_marker_is_refused(plane: ControlPlane) -> None:
    """There is no page after what is not there."""
    with pytest.raises(exception.Invalid, match="marker"):
        plane.lists.list_servers(a_user(), filters=ALL, limit=1, marker=builders.a_uuid())
