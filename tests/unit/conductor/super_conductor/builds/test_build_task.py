"""Tests of bringing an accepted request to its cells, whatever breaks on the way."""

import itertools
import threading
from collections.abc import Collection

import oslo_messaging
import pytest
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.builds import build_task
from conductor.super_conductor.db import host_mappings, instance_mappings, traces
from objects.allocations.fence import Fence
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance
from objects.traces.decision_trace import DecisionTrace
from tests.fixtures.control_plane import ControlPlane, a_user
from tests.fixtures.messages.direct_bus import failing, moments, once
from tests.fixtures.stand_ins.told import Told
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor

ALL_STEPS = [step.name for steps in build_task.STEPS.values() for step in steps]
BUILD_STEPS = [step.name for step in (*build_task.SCHEDULE, *build_task.HAND_OVER)]
CELL0_STEPS = [step.name for step in (*build_task.SCHEDULE[:-1], *build_task.STORE_IN_CELL0)]
SCHEDULE_STEPS = [step.name for step in build_task.SCHEDULE]
EFFECTS_MAX = 60
FIRST, SECOND = int(Fence.of_build(1)), int(Fence.of_build(2))

TIMEOUT = oslo_messaging.MessagingTimeout("no answer")


def no_valid_host(*zones: dict[str, object]) -> exception.NoValidHost:
    trace = DecisionTrace.from_values(
        hosts_total=2, sentence="2 of 2 hosts lack VCPU", zones=list(zones)
    )
    return exception.NoValidHost(reason="2 of 2 hosts lack VCPU", trace=trace.obj_to_primitive())


def shown(plane: ControlPlane, uuid: str) -> Instance:
    return plane.servers.get_server(a_user(), uuid)


def the_cell(plane: ControlPlane) -> CellConductor:
    (cell,) = plane.cells.values()
    return cell


# The way it should go


def test_a_request_ends_in_its_cell(plane: ControlPlane) -> None:
    """Accepted, scheduled, handed over and mapped: all three live in the cell."""
    uuids = plane.build(3)
    plane.check(*uuids)
    assert set(plane.placement.held) == set(uuids)


def test_step_names_are_unique() -> None:
    """Tests name steps; two by one name would leave one of them untested."""
    assert len(set(ALL_STEPS)) == len(ALL_STEPS)


def test_the_cell_gets_what_it_needs_to_build(plane: ControlPlane) -> None:
    """Each build request carries its own spec, the host with an alternate, and the fence."""
    uuids = plane.build(2)
    handed = the_cell(plane).build_requests
    assert [one.request_spec.instance_uuid for one in handed] == uuids
    assert [[host.service_host for host in one.selections] for one in handed] == [
        ["cell1-host1", "cell1-host2"],
        ["cell1-host2", "cell1-host1"],
    ]
    assert {one.fence for one in handed} == {FIRST}


def test_a_large_request_is_handed_over_in_batches(plane: ControlPlane) -> None:
    """No message carries more than [conductor] build_batch_size_max instances."""
    plane.conf.set_override("build_batch_size_max", 3, group="conductor")
    plane.check(*plane.build(7))
    assert the_cell(plane).batch_sizes == [3, 3, 1]


def test_an_undiscovered_host_is_mapped_with_its_first_instance(plane: ControlPlane) -> None:
    """The selection says which cell the host is in."""
    plane.build()
    mapping = plane.database.read(host_mappings.find_host_mapping, "cell1-host1")
    assert mapping is not None
    assert mapping.cell_uuid == the_cell(plane).uuid


def test_the_trace_is_stored_in_parts(plane: ControlPlane) -> None:
    """An instance's trace has its own choice, not those of the others of its request."""
    uuids = plane.build(3)
    found = plane.database.read(traces.find_trace, uuids[1])
    assert found is not None
    assert found["hosts_total"] == 2
    assert [choice["instance_uuid"] for choice in found["choices"]] == [uuids[1]]


def test_instances_of_two_cells_are_handed_to_both(plane: ControlPlane) -> None:
    """Each cell gets its own in one message."""
    other = plane.add_cell("cell2", hosts=2)
    plane.check(*plane.build(4))
    assert other.batch_sizes == [2]


def test_group_members_elsewhere_and_on_their_way_count_as_hosts(plane: ControlPlane) -> None:
    """The scheduler is told the hosts of members in cells, and of those selected but not there."""
    group = plane.add_group()
    plane.build(hints={"group": [group.uuid]})
    plane.before_step = once("hand over", failing)
    plane.build(2, hints={"group": [group.uuid]})
    plane.create(hints={"group": [group.uuid]})
    plane.workers.work()
    asked = plane.scheduler.specs[-1].instance_group
    assert asked is not None
    assert asked.hosts == ["cell1-host1", "cell1-host2"]
    assert len(asked.members) == 4


def test_every_engine_brings_requests_to_their_ends(any_plane: ControlPlane) -> None:
    """Built, stored in cell0, deleted on the way, deleted later, recovered."""
    plane = any_plane
    kept, gone = plane.build(2)
    plane.delete(gone)
    uuids = plane.create(3)
    plane.scheduler.before = lambda: plane.delete(uuids[0])
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True)
    plane.workers.work()
    plane.scheduler.before = lambda: None
    plane.settle()
    plane.scheduler.error = no_valid_host()
    failed = plane.build(2)
    plane.check(kept, *uuids[1:], *failed)


def test_a_delete_waits_for_a_mapping_that_is_being_written(any_plane: ControlPlane) -> None:
    """It finds the instance in its cell then: nothing falls between."""
    plane = any_plane
    (uuid,) = plane.create()
    (cell,) = plane.cells.values()
    threads: list[threading.Thread] = []
    map_to_cell = instance_mappings.map_to_cell

    def map_slowly(session: Session, uuids: Collection[str], cell_uuid: str) -> None:
        threads.append(threading.Thread(target=plane.delete, args=(uuid,)))
        threads[0].start()
        threads[0].join(0.3)
        map_to_cell(session, uuids, cell_uuid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instance_mappings, "map_to_cell", map_slowly)
        plane.workers.work()
    threads[0].join(60)
    assert cell.known == {uuid}
    plane.check()
    assert plane.places(uuid) == []


# No host


def test_a_request_without_a_host_ends_in_cell0(plane: ControlPlane) -> None:
    """It is ERROR with the reason in its message, and details for administrators."""
    plane.scheduler.error = no_valid_host()
    (uuid,) = plane.build()
    plane.check(uuid)
    assert plane.places(uuid) == [CELL0_UUID]
    fault = shown(plane, uuid).fault
    assert fault is not None
    assert fault.message == "No valid host was found. 2 of 2 hosts lack VCPU"
    assert fault.details == "2 of 2 hosts lack VCPU"


def test_a_request_without_a_host_keeps_its_trace(plane: ControlPlane) -> None:
    """The sentence that says what would have to change is there to be explained."""
    plane.scheduler.error = no_valid_host()
    (uuid,) = plane.build()
    explained = plane.servers.explain(a_user(), uuid, with_hosts=False)
    assert explained.trace
    assert explained.trace["sentence"] == "2 of 2 hosts lack VCPU"


def test_a_build_that_failed_is_an_action_in_cell0(plane: ControlPlane) -> None:
    """The create action shows the scheduling event with its result."""
    plane.scheduler.error = no_valid_host()
    (uuid,) = plane.build()
    (action,) = plane.servers.list_server_actions(a_user(), uuid)
    assert (action.action, [event.result for event in action.events]) == ("create", ["Error"])


@pytest.mark.parametrize(
    "zone", [{"outcome": "late"}, {"outcome": "failed"}, {"outcome": "stale", "may_serve": True}]
)
def test_a_request_waits_for_a_zone_that_may_serve_it(
    plane: ControlPlane, zone: dict[str, object]
) -> None:
    """[zones] absence_wait_seconds from its acceptance on: then there is no host."""
    plane.conf.set_override("name", "root", group="zones")
    plane.scheduler.error = no_valid_host({"path": ["eu"], "hosts": 0, **zone})
    accepted_at = plane.clock()
    (uuid,) = plane.build()
    assert plane.places(uuid) == []
    plane.settle()
    assert plane.clock() >= accepted_at + plane.conf.zones.absence_wait_seconds
    assert plane.places(uuid) == [CELL0_UUID]


@pytest.mark.parametrize(
    "zone", [{"outcome": "pruned"}, {"outcome": "offline"}, {"outcome": "stale"}]
)
def test_a_request_does_not_wait_for_a_zone_that_cannot_serve_it(
    plane: ControlPlane, zone: dict[str, object]
) -> None:
    """A stale zone is one of them whose last summary has no room."""
    plane.conf.set_override("name", "root", group="zones")
    plane.scheduler.error = no_valid_host({"path": ["eu"], "hosts": 0, **zone})
    (uuid,) = plane.build()
    assert plane.places(uuid) == [CELL0_UUID]


def test_a_policy_that_no_host_can_satisfy_is_final(plane: ControlPlane) -> None:
    """UnsupportedPolicy ends in cell0 immediately: asking again would not help."""
    plane.scheduler.error = exception.UnsupportedPolicy(policy="affinity", reason="not enabled")
    (uuid,) = plane.build()
    plane.check(uuid)
    assert len(plane.scheduler.specs) == 1


def test_a_request_without_a_host_is_told_with_what_it_asked_for(plane: ControlPlane) -> None:
    """Project, user, flavor, image and count, as in the notifications of schedulers."""
    told = Told()
    plane.notifier = told.notifier
    plane.start()
    plane.add_image("loop")
    plane.scheduler.error = no_valid_host()
    uuids = plane.build(2, image="loop")
    (one,) = told.told
    assert one.event_type == "compute_task.build_instances.error"
    facts = one.facts
    assert (facts["instance_uuids"], facts["num_instances"]) == (uuids, 2)
    assert (facts["project_id"], facts["user_id"]) == (a_user().project_id, a_user().user_id)
    assert (facts["flavor"]["name"], facts["image"]["name"]) == ("small", "loop")


# Something breaks


@pytest.mark.parametrize("error", [None, no_valid_host()], ids=["build", "cell0"])
def test_a_conductor_may_be_killed_at_any_effect(
    plane: ControlPlane, error: Exception | None
) -> None:
    """Before and after messages and transactions; another one goes on, nothing is lost."""
    plane.scheduler.error = error
    accepted: list[str] = []
    for effect in moments(str(error), begin=1.0):
        assert effect < EFFECTS_MAX

        def work() -> None:
            accepted.extend(plane.create(2))
            plane.workers.work()

        if not plane.killed_at(effect, work):
            break
        plane.settle()
        plane.check(*accepted)
    plane.check(*accepted)


def test_an_answer_that_never_came_is_asked_for_again_under_a_higher_fence(
    plane: ControlPlane,
) -> None:
    """The scheduler had claimed: its claims are released first, then it is asked again."""
    plane.bus.fail("select_destinations", TIMEOUT, when_done=True)
    uuids = plane.build(2)
    assert {shown(plane, uuid).vm_state for uuid in uuids} == {"building"}
    assert plane.placement.held.keys() == set(uuids)
    held: list[set[str]] = []
    plane.scheduler.before = lambda: held.append(set(plane.placement.held))
    plane.settle()
    plane.check(*uuids)
    assert held == [set()]
    assert plane.scheduler.fences == [FIRST, SECOND]


def test_a_claim_that_comes_too_late_is_refused(plane: ControlPlane) -> None:
    """A scheduler that was given up on claims with the old fence: it holds nothing."""
    plane.bus.fail("select_destinations", TIMEOUT)
    (uuid,) = plane.build()
    plane.scheduler.error = no_valid_host()
    plane.settle()
    plane.scheduler.answer([uuid], [FIRST])
    plane.check(uuid)
    assert plane.placement.held == {}


def test_an_unanswered_request_is_given_up_at_its_deadline(plane: ControlPlane) -> None:
    """After [conductor] scheduling_deadline_seconds it is ERROR, with why the last try failed."""
    plane.bus.fail("select_destinations", TIMEOUT, times=1000)
    (uuid,) = plane.build()
    plane.settle()
    plane.check(uuid)
    fault = shown(plane, uuid).fault
    assert fault is not None
    assert fault.message == "The request could not be scheduled in time."
    assert "No answer to select_destinations" in (fault.details or "")


def test_pauses_between_tries_grow_up_to_the_lease(plane: ControlPlane) -> None:
    """A scheduler that is unreachable is not asked all the time."""
    plane.bus.fail("select_destinations", TIMEOUT, times=4)
    plane.build()
    tries = []
    for second in range(60):
        plane.clock.advance(1)
        before = plane.steps.count("select destinations")
        plane.recover()
        tries += [second] * (plane.steps.count("select destinations") - before)
    gaps = [later - earlier for earlier, later in itertools.pairwise(tries)]
    assert gaps == sorted(gaps)
    assert gaps[-1] > gaps[0]


def test_a_cell_that_does_not_answer_holds_up_no_other(plane: ControlPlane) -> None:
    """Its instances wait; those of the other cell live; nothing is scheduled again."""
    dead = plane.add_cell("cell2", hosts=2)
    plane.bus_of(dead).fail("build_instances", TIMEOUT, times=2)
    uuids = plane.build(4)
    states = sorted(len(cell.instances) for cell in plane.cells.values())
    assert states == [0, 2]
    plane.settle()
    plane.check(*uuids)
    assert len(plane.scheduler.specs) == 1


def test_a_cell_that_took_them_and_did_not_say_so_is_asked_again(plane: ControlPlane) -> None:
    """Handing over twice is fine; the fence is still that of the scheduler's claim."""
    cell = the_cell(plane)
    plane.bus_of(cell).fail("build_instances", TIMEOUT, when_done=True)
    uuids = plane.build(2)
    plane.settle()
    plane.check(*uuids)
    assert {one.fence for one in cell.build_requests} == {FIRST}
    assert cell.batch_sizes == [2, 2]


def test_a_silent_member_cell_makes_a_group_wait(plane: ControlPlane) -> None:
    """Without knowing where the members are, a guess might break the policy."""
    group = plane.add_group("affinity")
    plane.build(hints={"group": [group.uuid]})
    plane.bus_of(the_cell(plane)).fail("find_instance_hosts", TIMEOUT)
    (uuid,) = plane.build(hints={"group": [group.uuid]})
    assert len(plane.scheduler.specs) == 1
    plane.settle()
    assert len(plane.scheduler.specs) == 2
    assert shown(plane, uuid).vm_state == "active"


# Several conductors


def test_of_two_conductors_one_takes_what_was_left_lying(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """Both find the reservation free; the scheduler is asked by one of them."""
    plane.create(2)
    plane.start()  # forgets what it was to do
    plane.clock.advance(60)
    other_plane.clock.advance(60)
    with plane.database.reader() as session:
        free = [key for key, _ in plane.builds.leases.list_free(session, limit=10)]
    assert free
    plane.builds.resume(free)
    other_plane.builds.resume(free)
    assert sorted(len(one.workers.waiting) for one in (plane, other_plane)) == [0, 1]
    plane.workers.work()
    other_plane.workers.work()
    plane.check()
    assert len(plane.scheduler.specs) == 1


def test_a_conductor_that_was_too_slow_writes_nothing(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """While it waits for the scheduler another one takes over: only the latter's answer counts."""

    def overtake() -> None:
        plane.scheduler.before = lambda: None
        other_plane.clock.advance(60)
        other_plane.recover()

    plane.scheduler.before = overtake
    uuids = plane.build(2)
    assert plane.scheduler.fences == [FIRST, SECOND]
    plane.settle()
    plane.check(*uuids)
    assert {one.fence for one in the_cell(plane).build_requests} == {SECOND}


def test_an_answer_that_comes_after_the_lease_is_not_handed_over(
    plane: ControlPlane, other_plane: ControlPlane
) -> None:
    """Its claims were released when another conductor took over, whose own try failed as well."""

    def overtake() -> None:
        plane.scheduler.before = lambda: None
        plane.bus.fail("select_destinations", TIMEOUT)
        other_plane.clock.advance(60)
        other_plane.recover()

    plane.scheduler.before = overtake
    uuids = plane.build(2)
    assert plane.steps == SCHEDULE_STEPS
    plane.settle()
    plane.check(*uuids)


def test_leases_of_work_in_progress_are_renewed(plane: ControlPlane) -> None:
    """A request that waits for the scheduler for long is not taken away."""
    plane.create()
    plane.clock.advance(plane.conf.conductor.lease_seconds - 1)
    plane.builds.keeper.renew_all()
    plane.clock.advance(plane.conf.conductor.lease_seconds - 1)
    with plane.database.reader() as session:
        assert plane.builds.leases.list_free(session, limit=10) == []


def test_a_request_that_finds_all_workers_busy_is_left_to_recovery(plane: ControlPlane) -> None:
    """It is free immediately, for this conductor or another one."""

    plane.workers.are_busy = True
    (uuid,) = plane.create()
    plane.workers.are_busy = False
    plane.recover()
    plane.check(uuid)
