"""Host states: pushed in order, complete for each caller, cheap while nothing changes."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.hosts.host_updates import REST_SECONDS
from conductor.common.cell_db import host_seq
from objects.hosts.host_attributes import HOST_ATTRIBUTES
from objects.hosts.host_states import HostStateBatch
from tests.fixtures.cell import (
    CELL_UUID,
    Cell,
    a_build_request,
    a_node,
    counted_statements,
    node_uuid,
)

AWAY = exception.RpcUnavailable(method="update_host_states", topic="scheduler", reason="no broker")


class Follower:
    """A scheduler's view of the cell, kept by the rules of ``HostStateBatch``."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.seq = -1
        self.rows: dict[str, dict[str, Any]] = {}
        self.asked = 0

    def take(self, batches: Sequence[HostStateBatch]) -> None:
        for batch in batches:
            if not batch.full and batch.first_seq > self.seq:
                self.asked += 1
                self._apply(self.cell.updates.get(max(self.seq, 0)))
            elif batch.full or batch.last_seq > self.seq:
                self._apply(batch)

    def _apply(self, batch: HostStateBatch) -> None:
        if batch.full:
            self.rows = {}
        for place, uuid in enumerate(batch.node_uuids):
            self.rows[uuid] = {name: values[place] for name, values in batch.attributes.items()}
        for uuid in batch.removed:
            self.rows.pop(uuid, None)
        self.seq = batch.last_seq


def truth(cell: Cell) -> dict[str, dict[str, Any]]:
    follower = Follower(cell)
    follower._apply(cell.updates.get(0))
    return follower.rows


def free_ram(cell: Cell, host: str, free_ram_mb: int) -> None:
    cell.nodes.report_compute_nodes(
        admin_context(), host, [a_node(host, attributes={"free_ram_mb": free_ram_mb})]
    )


def pushed(cell: Cell) -> list[HostStateBatch]:
    """Push, and return what was."""
    cell.scheduler.batches.clear()
    cell.updates.push()
    return list(cell.scheduler.batches)


def test_a_row_has_every_declared_attribute(cell: Cell) -> None:
    """The agent's as it reported them, the cell's worked out, the rest at their defaults."""
    cell.add_agent("a")
    batch = cell.updates.get(0)
    assert set(batch.attributes) == {attribute.name for attribute in HOST_ATTRIBUTES}
    assert batch.attributes["service_up"] == [True]
    assert batch.attributes["service_disabled"] == [False]
    assert batch.attributes["supported_instances"] == [[]]
    assert (batch.cell_uuid, batch.hosts, batch.nodes) == (CELL_UUID, ["a"], ["a"])


def test_instances_of_a_host_are_in_its_row_until_they_leave(cell: Cell) -> None:
    """From the moment they are stored for the host; a next attempt moves them."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.failing["a"] = True
    request = a_build_request("a", "b")
    cell.hand_over(request)
    assert truth(cell)[node_uuid("a")]["instance_uuids"] == [request.instance_uuid]
    cell.settle()
    rows = truth(cell)
    assert rows[node_uuid("a")]["num_instances"] == 0
    assert rows[node_uuid("b")]["instance_uuids"] == [request.instance_uuid]


def test_an_instance_that_ends_in_error_leaves_its_host_s_row(cell: Cell) -> None:
    """A change that is pushed: the host is free for others."""
    cell.add_agent("a")
    cell.failing["a"] = True
    cell.hand_over(a_build_request("a"))
    before = cell.updates.get(0).last_seq
    cell.settle()
    batch = cell.updates.get(before)
    assert (batch.hosts, batch.attributes["num_instances"]) == (["a"], [0])


def test_the_first_push_after_a_start_is_a_sign_of_life_at_the_present_number(cell: Cell) -> None:
    """Schedulers see by it what they missed; nothing old is sent again."""
    cell.add_agent("a")
    [batch] = pushed(cell)
    current = cell.updates.get(0).last_seq
    assert (batch.first_seq, batch.last_seq, batch.node_uuids) == (current, current, [])


def test_changes_are_pushed_once_in_order_without_a_gap(cell: Cell) -> None:
    """Each batch begins where the last one ended."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.updates.push()
    free_ram(cell, "a", 1)
    free_ram(cell, "b", 2)
    [first] = pushed(cell)
    free_ram(cell, "a", 3)
    [second] = pushed(cell)
    assert (sorted(first.hosts), second.hosts) == (["a", "b"], ["a"])
    assert first.last_seq == second.first_seq
    assert pushed(cell) == []


def test_a_change_between_two_of_the_same_row_is_skipped(cell: Cell) -> None:
    """A batch tells the state, not the history."""
    cell.add_agent("a")
    cell.updates.push()
    free_ram(cell, "a", 1)
    free_ram(cell, "a", 2)
    [batch] = pushed(cell)
    assert batch.attributes["free_ram_mb"] == [2]


def test_many_changes_are_split_into_batches(cell: Cell) -> None:
    """``host_push_batch_max`` rows each; their numbers join up."""
    cell.conf.set_override("host_push_batch_max", 2, group="cell")
    for host in "abcde":
        cell.add_agent(host)
    cell.updates.push()
    for host in "abcde":
        free_ram(cell, host, 1)
    batches = pushed(cell)
    assert [len(batch.node_uuids) for batch in batches] == [2, 2, 1]
    for former, latter in itertools.pairwise(batches):
        assert former.last_seq == latter.first_seq


def test_what_changed_in_one_transaction_stays_in_one_batch(cell: Cell) -> None:
    """They have one number; a batch ends at a number."""
    cell.conf.set_override("host_push_batch_max", 2, group="cell")
    cell.add_agent("rack", "a", "b", "c", "d", "e")
    cell.updates.push()
    cell.silence("rack")
    cell.services.watch()
    assert [len(batch.node_uuids) for batch in pushed(cell)] == [5]


def test_what_changes_soon_after_a_push_waits_for_the_next(cell: Cell) -> None:
    """After a quiet time the first change is pushed immediately."""
    cell.add_agent("a")
    cell.add_agent("b")
    cell.updates.push_in_turn()
    pushed_rows: list[int] = []
    for host in ("a", "b", "a"):
        free_ram(cell, host, len(pushed_rows))
        pushed_rows.append(cell.updates.push_in_turn())
        cell.clock.advance(REST_SECONDS / 4)
    cell.clock.advance(REST_SECONDS / 4)
    assert (pushed_rows, cell.updates.push_in_turn()) == ([1, 0, 0], 2)


def test_without_a_change_a_sign_of_life_is_pushed_now_and_then(cell: Cell) -> None:
    """Every ``host_push_idle_seconds``."""
    cell.add_agent("a")
    cell.updates.push()
    batches = []
    for _ in range(21):
        cell.clock.advance(0.5)
        batches += pushed(cell)
    assert [(batch.first_seq == batch.last_seq, batch.node_uuids) for batch in batches] == [
        (True, []), (True, [])
    ]  # fmt: skip


def test_without_a_change_a_push_is_one_tiny_query(cell: Cell) -> None:
    """It happens five times a second in every conductor."""
    cell.add_agent("a")
    cell.updates.push()
    with counted_statements(cell.database) as statements:
        cell.updates.push()
    assert len(statements) == 1


def test_what_could_not_be_sent_is_sent_the_next_time(cell: Cell) -> None:
    """The broker was unreachable; no change is lost."""
    cell.add_agent("a")
    cell.updates.push()
    cell.top_bus.fail("update_host_states", AWAY)
    free_ram(cell, "a", 1)
    assert pushed(cell) == []
    [batch] = pushed(cell)
    assert batch.attributes["free_ram_mb"] == [1]


def test_the_answer_to_a_number_is_what_changed_since(cell: Cell) -> None:
    """Nothing for the present one."""
    cell.add_agent("a")
    cell.add_agent("b")
    before = cell.updates.get(0).last_seq
    assert cell.updates.get(before).node_uuids == []
    free_ram(cell, "b", 1)
    batch = cell.updates.get(before)
    assert (batch.full, batch.first_seq, batch.hosts) == (False, before, ["b"])


def test_the_answer_to_zero_is_all_rows(cell: Cell) -> None:
    """``full``: what is not in it is gone."""
    cell.add_agent("a")
    batch = cell.updates.get(0)
    assert (batch.full, batch.first_seq, batch.hosts) == (True, 0, ["a"])


def test_the_answer_to_a_number_never_given_is_all_rows(cell: Cell) -> None:
    """The cell's database was restored from a backup."""
    cell.add_agent("a")
    assert cell.updates.get(10_000).full


def test_the_answer_to_one_who_missed_a_forgotten_removal_is_all_rows(cell: Cell) -> None:
    """Removals are kept for days; a scheduler further behind reads everything again."""
    cell.add_agent("a")
    cell.add_agent("b")
    before = cell.updates.get(0).last_seq
    [uuid] = [s.uuid for s in cell.services.list_services(admin_context()) if s.host == "a"]
    cell.services.delete_service(admin_context(), uuid)
    assert cell.updates.get(before).removed == [node_uuid("a")]
    cell.clock.advance(8 * 86400)
    cell.purge()
    batch = cell.updates.get(before)
    assert (batch.full, batch.hosts) == (True, ["b"])


def test_a_follower_that_hears_every_push_knows_the_truth(cell: Cell) -> None:
    """Builds, deletes, changes, hosts that come and go: by pushes alone."""
    follower = Follower(cell)
    for act in _story(cell):
        act()
        follower.take(pushed(cell))
        assert follower.rows == truth(cell)
    assert follower.asked == 1  # at the start, when it knew nothing


@pytest.mark.parametrize("heard", [2, 3], ids=["every-second", "every-third"])
def test_a_follower_that_misses_pushes_asks_and_knows_the_truth(cell: Cell, heard: int) -> None:
    """A gap shows in the numbers of the next push that arrives."""
    follower = Follower(cell)
    for number, act in enumerate(_story(cell)):
        act()
        batches = pushed(cell)
        if number % heard == 0:
            cell.clock.advance(10)
            follower.take(batches + pushed(cell))
            assert follower.rows == truth(cell)
    assert follower.asked > 1


def test_a_follower_of_two_conductors_knows_the_truth(cell: Cell) -> None:
    """Both push the same numbers; repeats change nothing."""
    follower = Follower(cell)
    other = Cell.__new__(Cell)
    other.__dict__.update(cell.__dict__)
    other.restart()
    for number, act in enumerate(_story(cell)):
        act()
        first, second = pushed(cell), pushed(other)
        follower.take(first + second if number % 2 else second + first)
        assert follower.rows == truth(cell)


def test_a_number_is_given_once_and_seen_in_its_order(cell: Cell) -> None:
    """Every transaction takes the next one."""
    numbers = [cell.database.run_in_writer(host_seq.next_number) for _ in range(3)]
    assert [number - numbers[0] for number in numbers] == [0, 1, 2]


def _story(cell: Cell) -> list[Any]:
    request = a_build_request("a", "b")
    cell.failing["a"] = True

    def remove() -> None:
        [uuid] = [s.uuid for s in cell.services.list_services(admin_context()) if s.host == "a"]
        cell.services.delete_service(admin_context(), uuid)

    return [
        lambda: cell.add_agent("a"),
        lambda: cell.add_agent("b"),
        lambda: free_ram(cell, "a", 5),
        lambda: cell.hand_over(request),
        cell.settle,
        lambda: free_ram(cell, "b", 7),
        lambda: cell.silence("a"),
        cell.services.watch,
        remove,
        lambda: cell.ask_delete(request.instance_uuid),
        cell.settle,
    ]
