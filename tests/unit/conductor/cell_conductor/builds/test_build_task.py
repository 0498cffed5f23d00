"""Builds: stored before they are answered, cast, and tried on alternates until one runs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.cell_conductor.builds.build_task import HOST_LOST, Batch
from conductor.common.cell_db import models
from conductor.common.cell_db.builds import Stage
from conductor.common.cell_db.stored_object import StoredObject
from objects.instances.build_request import BuildRequest
from tests.fixtures.cell import (
    FENCE,
    Cell,
    a_build_request,
    counted_statements,
    node_uuid,
    survive_kills,
)

GONE = exception.DatabaseUnavailable(name="placement", reason="it restarts")


def three_hosts(cell: Cell) -> None:
    for host in "abc":
        cell.add_agent(host)


def all_good(cell: Cell) -> BuildRequest:
    three_hosts(cell)
    return a_build_request("a", "b", "c")


def first_fails(cell: Cell) -> BuildRequest:
    cell.failing["a"] = True
    return all_good(cell)


def second_refused(cell: Cell) -> BuildRequest:
    cell.placement.full.add(node_uuid("b"))
    return first_fails(cell)


def all_fail(cell: Cell) -> BuildRequest:
    cell.failing.update({"a": True, "b": True, "c": True})
    return all_good(cell)


def first_aborts(cell: Cell) -> BuildRequest:
    cell.failing["a"] = False
    return all_good(cell)


def first_is_down(cell: Cell) -> BuildRequest:
    request = all_good(cell)
    cell.silence("a")
    return request


STORIES = [
    (all_good, "active", "a"),
    (first_fails, "active", "b"),
    (second_refused, "active", "c"),
    (all_fail, "error", None),
    (first_aborts, "error", None),
    (first_is_down, "active", "b"),
]
stories = pytest.mark.parametrize(
    ("story", "vm_state", "host"), STORIES, ids=[story.__name__ for story, *_ in STORIES]
)
Story = Callable[[Cell], BuildRequest]


@stories
def test_a_build_ends_as_it_should(
    cell: Cell, story: Story, vm_state: str, host: str | None
) -> None:
    """Active with one guest and one allocation, or ERROR with neither."""
    request = story(cell)
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, vm_state, host)


@stories
def test_a_build_survives_a_kill_at_any_moment(
    tmp_path: Path, story: Story, vm_state: str, host: str | None
) -> None:
    """Before and after messages and transactions, another conductor ends it the same."""
    killed = survive_kills(
        tmp_path,
        story,
        [lambda cell, request: cell.hand_over(request)],
        lambda cell, request: cell.check(request.instance_uuid, vm_state, host),
        story=story.__name__,
    )
    assert killed >= 2


@stories
def test_a_build_comes_out_the_same_when_every_message_arrives_twice(
    cell: Cell, story: Story, vm_state: str, host: str | None
) -> None:
    """Claims, releases, casts: each is done twice, and counts once."""
    request = story(cell)
    cell.top_bus.is_twice = cell.cell_bus.is_twice = True
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, vm_state, host)


@stories
@pytest.mark.parametrize("when_done", [False, True], ids=["not-done", "done-but-not-answered"])
@pytest.mark.parametrize("method", ["claim_batch", "release", "build_instances"])
@pytest.mark.sampled(every=3)
def test_a_build_goes_on_after_a_step_that_failed(
    cell: Cell, story: Story, vm_state: str, host: str | None, method: str, when_done: bool
) -> None:
    """The intent stays, and recovery takes the step again."""
    request = story(cell)
    bus = cell.cell_bus if method == "build_instances" else cell.top_bus
    bus.fail(method, GONE, when_done=when_done, times=2)
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, vm_state, host)


def test_a_build_is_stored_before_it_is_cast(cell: Cell) -> None:
    """The first effect is the transaction, the second the message to the agent."""
    request = all_good(cell)
    cell.breaker.kill_at(-1)
    cell.hand_over(request)
    assert cell.breaker.names == ["write", "build_instances"]


def test_handing_over_twice_builds_once(cell: Cell) -> None:
    """The super conductor repeats itself when it got no answer."""
    request = all_good(cell)
    cell.hand_over(request)
    cell.hand_over(request)
    assert len(cell.agents["a"].commands) == 1
    assert len(cell.rows(models.Instance)) == 1


def test_handing_over_again_does_not_bring_back_what_was_deleted(cell: Cell) -> None:
    """A late repetition finds the deleted record and leaves it."""
    request = all_good(cell)
    cell.hand_over(request)
    cell.settle()
    cell.ask_delete(request.instance_uuid)
    cell.settle()
    cell.hand_over(request)
    cell.placement.held.clear()
    cell.settle()
    cell.check(request.instance_uuid, "deleted")


def test_a_request_without_a_host_is_refused_whole(cell: Cell) -> None:
    """Nothing of the message is stored."""
    good, bad = all_good(cell), a_build_request()
    with pytest.raises(exception.Invalid, match="has no selected host"):
        cell.build.store(admin_context(), [good, bad])
    assert cell.rows(models.Instance) == []


@pytest.mark.parametrize("position", [0, 1], ids=["chosen", "alternate"])
def test_a_request_for_another_cell_releases_nothing(cell: Cell, position: int) -> None:
    """Wherever it came from: this cell does not know the instance, and leaves its claims alone."""
    request = all_good(cell)
    request.selections[position].cell_uuid = "5f3a4b1e-0000-4000-8000-000000000002"
    held = cell.placement.held[request.instance_uuid] = {"a host of that cell"}
    with pytest.raises(exception.Invalid, match="this is the cell"):
        cell.build.store(admin_context(), [request])
    cell.settle()
    assert cell.rows(models.Instance) == []
    assert cell.placement.held == {request.instance_uuid: held}


def test_storing_two_hundred_takes_as_many_statements_as_storing_two(cell: Cell) -> None:
    """Bulk inserts: the number of statements does not grow with the number of instances."""
    three_hosts(cell)
    counts = []
    for number in (2, 200):
        requests = [a_build_request("a", "b") for _ in range(number)]
        with counted_statements(cell.database) as statements:
            cell.build.store(admin_context(), requests)
        counts.append(len(statements))
    assert counts[0] == counts[1] < 12


def test_the_agent_sees_the_host_s_limits_and_what_was_tried(cell: Cell) -> None:
    """The request spec is that of the attempt, not of the first choice."""
    cell.add_agent("a")
    cell.add_agent("bb")
    cell.failing["a"] = True
    cell.hand_over(a_build_request("a", "bb"))
    cell.agents["a"].work()
    spec = cell.agents["bb"].commands[0].spec
    assert spec is not None
    assert spec.limits is not None
    assert spec.limits.memory_mb == 2
    assert spec.retry is not None
    assert (spec.retry.num_attempts, spec.retry.hosts) == (2, [["a", "a"], ["bb", "bb"]])


def test_the_agent_sees_the_instance_as_it_is_stored(cell: Cell) -> None:
    """Host, node, attempt, zone and states of the attempt."""
    request = all_good(cell)
    cell.hand_over(request)
    instance = cell.agents["a"].commands[0].instance
    assert instance is not None
    assert (instance.host, instance.node, instance.attempt) == ("a", "a", 1)
    assert (instance.vm_state, instance.task_state) == ("building", "spawning")
    assert instance.availability_zone == "zone-of-a"


def test_a_host_without_a_service_counts_as_a_failed_build(cell: Cell) -> None:
    """Unknown at the moment of the cast: straight to the next alternate, with a fault."""
    cell.add_agent("b")
    request = a_build_request("a", "b")
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, "active", "b")
    [fault] = cell.rows(models.InstanceFault)
    assert (fault.attempt, fault.host, fault.message) == (1, "a", HOST_LOST)


def test_an_attempt_that_was_reported_meanwhile_is_not_forgotten(cell: Cell) -> None:
    """A conductor that was slow finds the host down; the guest, reported by then, stays."""
    three_hosts(cell)
    request = a_build_request("a", "b", "c")
    leases = cell.build.store(admin_context(), [request])
    as_read = cell.build._load(leases)
    cell.build.begin(admin_context(), [request], leases)
    cell.agents["a"].work()
    cell.silence("a")
    cell.build._cast(Batch(admin_context(), as_read))
    assert [command.kind for command in cell.agents["a"].commands] == []


def test_a_host_that_went_down_is_left_word_to_forget_the_attempt(cell: Cell) -> None:
    """Its agent may have begun: when it is back it destroys what it has."""
    request = first_is_down(cell)
    cell.hand_over(request)
    commands = [(command.kind, command.attempt) for command in cell.agents["a"].commands]
    assert commands == [("forget", 1)]


def test_a_conductor_without_reports_gives_no_host_up(cell: Cell) -> None:
    """The broker was unreachable: the agent's success, which waited in its outbox, still counts."""
    request = first_is_down(cell)
    cell.hears_well = False
    cell.agents["a"].is_alive = True
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, "active", "a")


def test_a_host_that_was_down_before_is_not_better_for_it(cell: Cell) -> None:
    """Schedulers know that it is down, and so do we."""
    request = first_is_down(cell)
    cell.services.watch()
    cell.hears_well = False
    cell.hand_over(request)
    cell.settle()
    cell.check(request.instance_uuid, "active", "b")


def test_the_next_attempt_is_stored_before_it_is_claimed(cell: Cell) -> None:
    """After a failure: transaction, claim, transaction, cast."""
    request = first_fails(cell)
    cell.hand_over(request)
    cell.breaker.kill_at(-1)
    cell.agents["a"].work()
    assert cell.breaker.names == ["write", "claim_batch", "write", "build_instances"]


def test_a_claim_replaces_the_former_one_with_a_higher_fence(cell: Cell) -> None:
    """Every alternate that is tried has a fence of its own, a refused one too."""
    request = second_refused(cell)
    cell.hand_over(request)
    cell.settle()
    claims = [(list(claim.allocations), claim.fence) for claim in cell.placement.claims]
    assert claims == [([node_uuid("b")], FENCE + 1), ([node_uuid("c")], FENCE + 2)]


def test_a_claim_of_a_refused_alternate_that_arrives_late_replaces_nothing(cell: Cell) -> None:
    """Placement fences it off: the later alternate keeps what it has."""
    request = second_refused(cell)
    cell.hand_over(request)
    cell.settle()
    cell.placement.full.clear()
    late = cell.placement.claims[0]
    [result] = cell.placement.claim(admin_context(), [late])
    assert not result.is_claimed
    cell.check(request.instance_uuid, "active", "c")


def test_while_placement_is_away_the_build_waits_longer_each_time(cell: Cell) -> None:
    """The pause between two tries doubles, up to a minute."""
    request = first_fails(cell)
    cell.hand_over(request)
    cell.top_bus.fail("claim_batch", GONE, times=20)
    cell.agents["a"].work()
    pauses = []
    for _ in range(7):
        [row] = cell.rows(models.InstanceBuild)
        pauses.append(row.lease_expires_at - cell.clock())
        cell.clock.advance(pauses[-1] + 1)
        cell.recovery.run()
    assert pauses == [2, 4, 8, 16, 32, 60, 60]
    assert cell.get(request.instance_uuid).vm_state == "building"


def test_a_build_whose_conductor_died_is_cast_again_by_another(cell: Cell) -> None:
    """Stored, never cast: when the lease ran out recovery casts the same attempt."""
    request = all_good(cell)
    cell.build.store(admin_context(), [request])
    cell.restart()
    cell.pass_time(31)
    cell.recovery.run()
    assert [command.attempt for command in cell.agents["a"].commands] == [1]


def test_a_build_that_the_heartbeat_names_is_left_alone(cell: Cell) -> None:
    """Its agent is working on it, however long it takes."""
    request = all_good(cell)
    cell.hand_over(request)
    for _ in range(10):
        cell.pass_time(30)
        assert cell.recovery.run() == 0
    assert len(cell.agents["a"].commands) == 1


def test_a_build_waits_for_the_heartbeats_of_its_agent(cell: Cell) -> None:
    """Which may come more rarely than leases expire, and one of them may be lost."""
    cell.conf.set_override("report_interval", 40)
    cell.restart()
    request = all_good(cell)
    cell.hand_over(request)
    cell.clock.advance(80)
    assert cell.recovery.run() == 0
    cell.clock.advance(21)
    assert cell.recovery.run() == 1


def test_a_heartbeat_renews_no_other_attempt(cell: Cell) -> None:
    """An agent that still works on attempt 1 says nothing about attempt 2 elsewhere."""
    request = first_fails(cell)
    cell.hand_over(request)
    cell.agents["a"].work()
    cell.agents["b"].commands.clear()
    cell.clock.advance(31)
    cell.services.report("a", ["a"], {request.instance_uuid: 1}, version=1)
    cell.services.report("b", ["b"], {request.instance_uuid: 1}, version=1)
    assert cell.recovery.run() == 1


def test_two_conductors_that_recover_take_a_build_once(cell: Cell) -> None:
    """The lease is taken by compare-and-swap."""
    request = all_good(cell)
    cell.build.store(admin_context(), [request])
    cell.pass_time(31)
    first = cell.take_free(cell.build)
    cell.restart()
    assert len(first) == 1
    assert cell.take_free(cell.build) == []


def test_a_conductor_whose_lease_was_taken_over_does_nothing(cell: Cell) -> None:
    """It was slow: what it comes back with is not its any more."""
    request = first_fails(cell)
    cell.hand_over(request)
    agent = cell.agents["a"]
    _answer, slow = cell.reports.take_build_failure(
        "a", "a", request.instance_uuid, 1,
        fault=agent.fault_for(request.instance_uuid), retry=True,
    )  # fmt: skip
    cell.clock.advance(31)
    for name in "abc":
        cell.agents[name].heartbeat()
    cell.recovery.run()
    cell.build.run(admin_context(), slow)
    assert len(cell.placement.claims) == 1
    assert len(cell.agents["b"].commands) == 1


def test_a_conductor_that_loses_its_lease_while_it_claims_stores_nothing(cell: Cell) -> None:
    """Placement was slow; another one has claimed and cast meanwhile."""
    request = first_fails(cell)
    cell.hand_over(request)

    def recover() -> None:
        cell.pass_time(31)
        cell.recovery.run()

    cell.top_bus.meanwhile("claim_batch", recover)
    cell.agents["a"].work()
    assert len(cell.placement.claims) == 2
    assert len(cell.agents["b"].commands) == 1
    cell.settle()
    cell.check(request.instance_uuid, "active", "b")


def test_a_claim_that_took_long_leaves_the_agent_its_whole_lease(cell: Cell) -> None:
    """Each step that was done begins a new one."""
    request = first_fails(cell)
    cell.hand_over(request)
    cell.top_bus.meanwhile("claim_batch", lambda: cell.clock.advance(25))
    cell.agents["a"].work()
    [row] = cell.rows(models.InstanceBuild)
    assert row.lease_expires_at == cell.clock() + 30


def test_a_build_that_cannot_be_worked_on_does_not_stop_the_others(cell: Cell) -> None:
    """One row that breaks a step is put off; the rest of its batch goes on without it."""
    three_hosts(cell)
    good, bad = a_build_request("a"), a_build_request("a")
    leases = cell.build.store(admin_context(), [good, bad])
    with cell.database.writer() as session:
        row = session.get(models.InstanceBuild, bad.instance_uuid)
        assert row is not None
        row.request_spec = StoredObject({"not": "a request spec"})
    cell.build.run(admin_context(), leases)
    assert good.instance_uuid in [command.uuid for command in cell.agents["a"].commands]
    release_leases = {row.instance_uuid: row.tries for row in cell.rows(models.InstanceBuild)}
    assert release_leases[bad.instance_uuid] == 1


def test_no_more_attempts_are_made_than_allowed(cell: Cell) -> None:
    """``[scheduler] max_attempts`` ends it, though alternates are left."""
    cell.conf.set_override("max_attempts", 2, group="scheduler")
    request = all_fail(cell)
    cell.hand_over(request)
    cell.settle()
    assert [row.attempt for row in cell.rows(models.InstanceFault)] == [1, 2, 0]


def test_a_build_waits_at_the_stage_that_is_stored(cell: Cell) -> None:
    """Claim first, then build: the row says what is next for the conductor that resumes it."""
    request = first_fails(cell)
    cell.hand_over(request)
    cell.top_bus.fail("claim_batch", GONE)
    cell.agents["a"].work()
    [row] = cell.rows(models.InstanceBuild)
    assert (row.stage, row.attempt) == (Stage.CLAIM, 2)


def test_where_the_scheduler_claims_nothing_alternates_are_not_claimed(cell: Cell) -> None:
    """A failed build goes on to the next host all the same."""
    request = first_fails(cell)
    for chosen in request.selections:
        chosen.allocation_request = {}
    cell.hand_over(request)
    cell.settle()
    assert cell.placement.claims == []
    row = cell.row(request.instance_uuid)
    assert (row.vm_state, row.host, cell.guests(row.uuid)) == ("active", "b", ["b"])
