"""Tests of server groups whose members live in several zones."""

import pytest

from armillary import exception
from conductor.common.clock import moment
from conductor.super_conductor.builds import group_members
from conductor.super_conductor.db import build_requests
from conductor.super_conductor.db.build_requests import NewSelections
from conductor.super_conductor.db.catalogue import server_groups
from conductor.super_conductor.zones import pending_group_members
from objects.allocations.fence import FIRST_FENCE
from objects.instances.instance_group import InstanceGroup
from objects.traces.decision_trace import DecisionTrace
from tests import builders
from tests.fixtures.control_plane import a_user
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, show

pytestmark = pytest.mark.sampled_tests(every=3)

__all__ = ["root"]


def a_group(root: Zone, policy: str) -> InstanceGroup:
    with root.database.writer() as session:
        return server_groups.create_group(
            session, group_uuid=builders.a_uuid(), name="g", project_id="p1", user_id="u1",
            policy=policy, rules={}, now=moment(root.clock()),
        )  # fmt: skip


def build(root: Zone, group: InstanceGroup, *entries: str, count: int = 1) -> list[str]:
    root.scheduler.zone_entries = root.entries(*entries)
    uuids = root.create(count, hints={"group": [group.uuid]})
    root.walk()
    return uuids


def refreshed(zone: Zone, group: InstanceGroup) -> InstanceGroup:
    assert zone.links is not None
    group_members.refresh(group, zone.database, zone.links, request_id=None)
    return group


def test_a_zone_knows_the_hosts_of_the_members_that_live_there(root: Zone) -> None:
    """It was never told of the group: the members come with the question."""
    group = a_group(root, "anti-affinity")
    members = build(root, group, "eu:cell1-host2", "us:cell1-host1", count=2)
    asked = refreshed(root, group)
    assert sorted(asked.members) == sorted(members)
    assert asked.hosts == []
    assert refreshed(child(root, "eu"), asked.obj_clone()).hosts == ["cell1-host2"]
    assert refreshed(child(root, "us"), asked.obj_clone()).hosts == ["cell1-host1"]


def test_a_member_with_another_name_there_counts_as_well(root: Zone) -> None:
    """Its first attempt failed in the same zone."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    group = a_group(root, "anti-affinity")
    build(root, group, "eu:cell1-host1", "eu:cell1-host3")
    assert refreshed(child(root, "eu"), refreshed(root, group)).hosts == ["cell1-host3"]


def test_members_that_found_no_host_do_not_go_along(root: Zone) -> None:
    """A zone that is asked would take them for members that live elsewhere."""
    child(root, "eu").cell().failing_hosts = {"cell1-host1"}
    group = a_group(root, "affinity")
    build(root, group, "eu:cell1-host1")
    root.settle_all()
    assert refreshed(root, group).members == []


def test_those_that_want_to_be_together_begin_at_the_same_host(root: Zone) -> None:
    """Else each would begin its walk at another one."""
    group = a_group(root, "affinity")
    uuids = build(root, group, "eu:cell1-host1", "us:cell1-host1", count=3)
    assert [root.living(uuid) for uuid in uuids] == [[("eu", "active")]] * 3


# Affinity while they walk


def test_a_server_finds_no_second_host_when_another_member_has_arrived(root: Zone) -> None:
    """Its own host refused it; the next entry would tear the group apart."""
    group = a_group(root, "affinity")
    (first,) = build(root, group, "eu:cell1-host1")
    eu = child(root, "eu")
    eu.cell().failing_hosts = {"cell1-host1"}
    (second,) = build(root, group, "eu:cell1-host1", "us:cell1-host1", ":cell1-host1")
    root.settle_all()
    assert root.living(first) == [("eu", "active")]
    assert root.living(second) == []
    fault = show(root, second).fault
    assert fault is not None
    assert fault.details is not None
    assert "other members of its affinity server group are in zone eu" in fault.details


def test_who_failed_waits_for_another_member_that_is_being_built(root: Zone) -> None:
    """That one may fail, too: then both go on, to the same host."""
    eu = child(root, "eu")
    eu.cell().slow_hosts = {"cell1-host1"}
    group = a_group(root, "affinity")
    root.scheduler.zone_entries = root.entries("eu:cell1-host1", "us:cell1-host1")
    uuids = root.create(2, hints={"group": [group.uuid]})
    root.work_all()
    eu.cell().fail_slow(uuids[0])
    for _ in range(3):
        root.look_again()
    assert [root.living(uuid) for uuid in uuids] == [[], [("eu", "building")]]
    eu.cell().fail_slow(uuids[1])
    root.walk()
    assert [root.living(uuid) for uuid in uuids] == [[("us", "active")]] * 2


# Affinity while they look for a host


NO_HOST = "No host is left beside them."


@pytest.fixture
def first(root: Zone) -> tuple[InstanceGroup, str]:
    """Lend a group whose first member is on its way in a zone; for others there is no host."""
    child(root, "us").cell().slow_hosts = {"cell1-host1"}
    group = a_group(root, "affinity")
    root.scheduler.zone_entries = root.entries("us:cell1-host1")
    (uuid,) = root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    refuse(root)
    return group, uuid


def refuse(root: Zone, *, zones: bool = True) -> None:
    asked_zone = {"path": ["us"], "outcome": "asked", "hosts": 0, "seconds": 0.0, "reason": None}
    trace = DecisionTrace.from_values(zones=[asked_zone] if zones else [], sentence=NO_HOST)
    root.scheduler.error = exception.NoValidHost(reason=NO_HOST, trace=trace.obj_to_primitive())


def let_go(root: Zone) -> None:
    """Have the first member's build end well; the zone has a host beside it."""
    root.scheduler.error = None
    child(root, "us").cell().slow_hosts = set()
    child(root, "us").cell().finish_slow()


def another(root: Zone, group: InstanceGroup) -> str:
    (uuid,) = root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    return uuid


def test_a_request_waits_for_a_member_that_is_on_its_way(
    root: Zone, first: tuple[InstanceGroup, str]
) -> None:
    """As soon as the zone knows where that is, it has a host for both."""
    group, uuid = first
    second = another(root, group)
    for _ in range(3):
        root.look_again()
    assert show(root, second).vm_state == "building"
    let_go(root)
    root.walk()
    root.settle_all()
    assert [root.living(each) for each in (uuid, second)] == [[("us", "active")]] * 2


def test_it_waits_no_longer_than_a_silent_zone_is_asked(
    root: Zone, first: tuple[InstanceGroup, str]
) -> None:
    """The reason says what it waited for."""
    group, uuid = first
    second = another(root, group)
    root.look_again(seconds=299)
    assert show(root, second).vm_state == "building"
    root.look_again(seconds=2)
    fault = show(root, second).fault
    assert fault is not None
    assert fault.details == (
        f"{NO_HOST} Waited 300 s for other members of its affinity server group; "
        f"{uuid} still has no host."
    )
    assert root.left_walks() == [uuid]


def test_a_deadline_that_is_sooner_says_so_as_well(
    root: Zone, first: tuple[InstanceGroup, str]
) -> None:
    """[conductor] scheduling_deadline_seconds holds whatever it waits for."""
    group, uuid = first
    root.conf.set_override("scheduling_deadline_seconds", 60, group="conductor")
    second = another(root, group)
    root.look_again(seconds=61)
    fault = show(root, second).fault
    assert fault is not None
    assert fault.details is not None
    assert fault.details.startswith("Not scheduled within 60 s")
    assert f"waiting for {uuid}" in fault.details


def test_when_the_member_is_deleted_nothing_is_waited_for(
    root: Zone, first: tuple[InstanceGroup, str]
) -> None:
    """Then there is no host, as before."""
    group, uuid = first
    second = another(root, group)
    root.endpoint.delete_server(a_user(), uuid)
    for _ in range(3):
        root.look_again()
    fault = show(root, second).fault
    assert fault is not None
    assert fault.details == NO_HOST


def test_one_that_waits_may_be_deleted(root: Zone, first: tuple[InstanceGroup, str]) -> None:
    """Nothing is left of it."""
    group, uuid = first
    second = another(root, group)
    root.endpoint.delete_server(a_user(), second)
    root.look_again()
    with pytest.raises(exception.InstanceNotFound):
        show(root, second)
    assert root.places(second) == []
    assert root.left_walks() == [uuid]
    left = [each.partition(": ") for each in root.left()]
    assert [name for table, _, name in left if table == "build_requests"] == [uuid]
    assert [table for table, _, _ in left].count("reservations") == 1


def test_one_that_waits_is_taken_up_by_another_conductor(
    root: Zone, first: tuple[InstanceGroup, str]
) -> None:
    """When its own dies."""
    group, _uuid = first
    second = another(root, group)
    root.start()
    let_go(root)
    root.settle_all()
    root.walk()
    assert len(root.living(second)) == 1


@pytest.mark.parametrize(
    ("policy", "zones"), [("anti-affinity", True), ("affinity", False)], ids=["apart", "no zones"]
)
def test_others_end_immediately(root: Zone, policy: str, *, zones: bool) -> None:
    """Where no other member's place decides, or no other zone was asked."""
    child(root, "us").cell().slow_hosts = {"cell1-host1"}
    group = a_group(root, policy)
    root.scheduler.zone_entries = root.entries("us:cell1-host1")
    root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    refuse(root, zones=zones)
    assert show(root, another(root, group)).vm_state == "error"


def test_of_requests_at_the_same_time_the_first_goes_as_if_alone(root: Zone) -> None:
    """Else each would be refused because of the other; whichever comes to the scheduler first."""
    refuse(root)
    group = a_group(root, "affinity")
    (one,) = root.create(1, hints={"group": [group.uuid]})
    root.clock.advance(1)
    root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    (asked_for,) = (spec for spec in root.scheduler.specs if spec.instance_uuid == one)
    assert asked_for.instance_group is not None
    assert asked_for.instance_group.members == [one]


def test_one_behind_that_was_given_a_host_is_told_of(root: Zone) -> None:
    """The first one has to go there."""
    group = a_group(root, "affinity")
    (one,) = root.create(1, hints={"group": [group.uuid]})
    root.clock.advance(1)
    (other,) = root.create(1, hints={"group": [group.uuid]})
    assert told_of(root, group, one) == {one}
    chosen = root.scheduler.hosts[0]
    form = chosen.obj_to_primitive()
    row = NewSelections(other, chosen.cell_uuid, int(FIRST_FENCE), [form])
    with root.database.writer() as session:
        build_requests.store_selections(session, [row])
    assert told_of(root, group, one) == {one, other}


def told_of(root: Zone, group: InstanceGroup, asking: str) -> set[str]:
    """Return the members that a scheduler is told of in the request of one of them."""
    known = refreshed(root, group.obj_clone())
    with root.database.reader() as session:
        (request,) = build_requests.list_build_requests(session, [asking])
        pending_group_members.remove_later_members(session, known, request.reservation_id)
    return set(known.members)


def test_the_scheduler_is_told_where_members_are_below(root: Zone) -> None:
    """Those that live there, and those on their way; only where the policy binds them."""
    for policy, paths in (("affinity", ["eu/eu-1"]), ("anti-affinity", [])):
        group = a_group(root, policy)
        build(root, group, "eu/eu-1:cell1-host1")
        assert refreshed(root, group).zone_paths == paths
    child(root, "us").cell().slow_hosts = {"cell1-host1"}
    group = a_group(root, "affinity")
    root.scheduler.zone_entries = root.entries("us:cell1-host1")
    root.create(1, hints={"group": [group.uuid]})
    root.work_all()
    assert refreshed(root, group).zone_paths == ["us"]


def test_a_member_that_walked_to_an_own_host_counts_here(root: Zone) -> None:
    """It has another name there."""
    group = a_group(root, "anti-affinity")
    build(root, group, ":cell1-host2")
    assert refreshed(root, group).hosts == ["cell1-host2"]
