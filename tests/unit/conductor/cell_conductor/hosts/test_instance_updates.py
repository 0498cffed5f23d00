"""A conductor tells schedulers of instances, in few messages."""

from typing import Any

import pytest

from armillary import exception
from conductor.cell_conductor.hosts.instance_updates import REST_SECONDS, InstanceUpdates
from tests.fixtures.cell import Cell, a_build_request

AWAY = exception.RpcUnavailable(method="m", topic="scheduler", reason="no broker")


class Told:
    """A client that notes what schedulers are told."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, dict[str, list[str]]]] = []
        self.error: Exception | None = None

    def __getattr__(self, method: str) -> Any:
        def tell(context: object, hosts: Any) -> None:
            if self.error is not None:
                raise self.error
            self.messages.append((method, {host: sorted(hosts[host]) for host in hosts}))

        return tell


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def updates(cell: Cell, told: Told) -> InstanceUpdates:
    return InstanceUpdates(cell.conf, database=cell.database, scheduler=told)  # type: ignore[arg-type]


def test_many_instances_are_one_message(updates: InstanceUpdates, told: Told) -> None:
    """One for those that came and one for those that are gone; then there is nothing to tell."""
    for host, uuid in (("a", "1"), ("b", "2"), ("a", "3")):
        updates.placed(host, uuid)
    updates.gone("b", "4")
    updates.push()
    updates.push()
    assert told.messages == [
        ("update_instance_info", {"a": ["1", "3"], "b": ["2"]}),
        ("delete_instance_info", {"b": ["4"]}),
    ]


def test_an_instance_that_came_and_went_is_told_to_be_gone(
    updates: InstanceUpdates, told: Told
) -> None:
    """The order of messages does not matter then."""
    updates.placed("a", "1")
    updates.gone("a", "1")
    updates.push()
    assert told.messages == [("delete_instance_info", {"a": ["1"]})]


def test_what_comes_soon_after_a_message_waits_for_the_next(cell: Cell, told: Told) -> None:
    """The first one after a quiet time is told immediately."""
    clock = [100.0]
    updates = InstanceUpdates(
        cell.conf,
        database=cell.database,
        scheduler=told,  # type: ignore[arg-type]
        monotonic=lambda: clock[0],
    )
    updates.push_in_turn()
    for uuid in ("1", "2", "3"):
        updates.placed("a", uuid)
        updates.push_in_turn()
    assert told.messages == [("update_instance_info", {"a": ["1"]})]
    clock[0] += REST_SECONDS
    updates.push_in_turn()
    assert told.messages[1:] == [("update_instance_info", {"a": ["2", "3"]})]


def test_all_hosts_are_told_of_in_batches(cell: Cell, updates: InstanceUpdates, told: Told) -> None:
    """Also those without an instance."""
    cell.conf.set_override("host_push_batch_max", 2, group="cell")
    cell.add_agent("agent", "a", "b", "c")
    request = a_build_request("a")
    cell.hand_over(request)
    updates.sync()
    assert [method for method, _hosts in told.messages] == ["sync_instance_info"] * 2
    hosts = {host: uuids for _method, some in told.messages for host, uuids in some.items()}
    assert hosts == {"a": [request.instance_uuid], "b": [], "c": []}


def test_nothing_is_told_when_changes_are_not_tracked(
    cell: Cell, updates: InstanceUpdates, told: Told
) -> None:
    """Nor read from the database."""
    cell.conf.set_override("track_instance_changes", False, group="filter_scheduler")
    updates.placed("a", "1")
    updates.gone("a", "2")
    updates.push()
    updates.sync()
    assert told.messages == []


def test_what_cannot_be_told_is_left_to_the_pushed_states(
    updates: InstanceUpdates, told: Told
) -> None:
    """No error, no second try."""
    told.error = AWAY
    updates.placed("a", "1")
    updates.push()
    updates.sync()
    told.error = None
    updates.push()
    assert told.messages == []


def test_a_deleted_instance_is_told_of(cell: Cell) -> None:
    """By the process that ends its record."""
    seen: list[tuple[str, str]] = []
    cell.add_agent("agent", "a")
    request = a_build_request("a")
    cell.hand_over(request)
    cell.settle()
    cell.delete._on_gone = lambda host, uuid: seen.append((host, uuid))
    cell.ask_delete(request.instance_uuid)
    cell.settle()
    assert seen == [("a", request.instance_uuid)]
