"""The history of a host: changes of its service, and steps of operations on its servers."""

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from objects.hosts.host_answers import ServiceChanges
from objects.hosts.host_event import HostEvent
from tests.fixtures.cell import Cell, a_build_request

DAY = 86400
OPERATOR = RequestContext(user_id="olga", project_id="admin", roles=["admin"], is_admin=True)


def events(cell: Cell, host: str, limit: int = 100, marker: str | None = None) -> list[HostEvent]:
    return cell.services.list_host_events(admin_context(), host, limit=limit, marker=marker)


def kinds(cell: Cell, host: str) -> list[str]:
    return [event.event for event in events(cell, host)]


def change(cell: Cell, host: str, **values: object) -> None:
    found = next(one for one in cell.services.list_services(admin_context()) if one.host == host)
    cell.services.update_service(OPERATOR, found.uuid, ServiceChanges(**values))  # type: ignore[arg-type]


def test_going_down_and_coming_back_is_remembered(cell: Cell) -> None:
    """Once each, newest first, of this host alone."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.silence("a")
    cell.services.watch()
    cell.services.watch()
    cell.services.report("a", ["a"], {}, version=9)
    assert kinds(cell, "a") == ["up", "down", "created"]
    assert kinds(cell, "b") == ["created"]


def test_what_operators_change_has_their_name_and_reason(cell: Cell) -> None:
    """A change to what is already so is none."""
    cell.add_agent("a")
    change(cell, "a", disabled=True, disabled_reason="new disks")
    change(cell, "a", disabled=True)
    change(cell, "a", forced_down=True)
    change(cell, "a", disabled=False, forced_down=False)
    found = events(cell, "a")
    assert sorted(event.event for event in found) == [
        "created", "disabled", "enabled", "forced_down", "forced_down_ended",
    ]  # fmt: skip
    (disabled,) = (event for event in found if event.event == "disabled")
    assert (disabled.user_id, disabled.details) == ("olga", "new disks")


def test_servers_that_came_and_left_are_steps_of_the_host(cell: Cell) -> None:
    """With the server's name, also once it is deleted; failures have their reason."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.failing["a"] = True
    request = a_build_request("a", "b")
    cell.hand_over(request)
    cell.settle()
    cell.ask_delete(request.instance_uuid)
    cell.settle()
    (failed,) = (event for event in events(cell, "a") if event.action == "create")
    assert (failed.event, failed.result) == ("compute_build_instance", "Error")
    assert failed.details
    steps = [event for event in events(cell, "b") if event.action]
    assert [event.event for event in steps] == ["compute_delete_instance", "compute_build_instance"]
    assert {event.instance_uuid for event in steps} == {request.instance_uuid}
    assert {event.instance_name for event in steps} == {request.instance.name}


def test_pages_have_each_event_once_in_one_order(cell: Cell) -> None:
    """Also those of one moment, of both sources."""
    cell.add_agent("a")
    for _ in range(3):
        change(cell, "a", disabled=True)
        change(cell, "a", disabled=False)
        cell.hand_over(a_build_request("a"))
        cell.settle()
    whole = events(cell, "a")
    assert len(whole) == 10
    paged: list[HostEvent] = []
    while page := events(cell, "a", limit=1, marker=paged[-1].marker if paged else None):
        paged += page
    assert paged == whole
    assert [event.at for event in whole] == sorted((e.at for e in whole), reverse=True)


@pytest.mark.parametrize(
    "marker", ["", "x", "1-2-3", "1-0-", "-1-0-1", "1-0-1 ", "9" * 18 + "-0-1", "1-0-" + "9" * 19]
)
def test_a_marker_of_no_event_is_refused(cell: Cell, marker: str) -> None:
    """It is the caller's mistake."""
    with pytest.raises(exception.Invalid, match="marker"):
        events(cell, "a", marker=marker)


def test_a_host_that_was_removed_keeps_its_history(cell: Cell) -> None:
    """It may come again under its name."""
    cell.add_agent("a")
    (found,) = cell.services.list_services(admin_context())
    cell.services.delete_service(admin_context(), found.uuid)
    cell.services.report("a", ["a"], {}, version=9)
    assert kinds(cell, "a") == ["created", "removed", "created"]


def test_changes_are_forgotten_after_ninety_days(cell: Cell) -> None:
    """So that a host that goes up and down for ever fills no disk."""
    cell.add_agent("a")
    cell.clock.advance(90 * DAY - 1)
    cell.purge()
    assert kinds(cell, "a") == ["created"]
    cell.clock.advance(2)
    cell.purge()
    assert kinds(cell, "a") == []
