"""Tests of what users do with servers that live in other zones."""

import dataclasses
from functools import partial
from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.db.catalogue import quotas
from objects.cell_mapping import CELL0_UUID
from objects.flavor import Flavor
from objects.instance import Instance
from objects.instances.migration import Migration
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_answers import MigrationPage
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.zones.zone_attempt import Attempts, ServerSize
from tests.builders import a_migration, a_uuid
from tests.fixtures.control_plane import PROJECT, a_user, an_admin
from tests.fixtures.messages.direct_bus import moments
from tests.fixtures.zones import Zone, root
from tests.unit.conductor.super_conductor.zones.test_walk import child, create, show

pytestmark = pytest.mark.sampled_tests(every=3)

__all__ = ["root"]


@pytest.fixture
def uuid(root: Zone) -> str:
    """Lend a server of the grandchild."""
    (made,) = create(root, "eu/eu-1:cell1-host1")
    root.walk()
    return made


def delete(root: Zone, uuid: str) -> None:
    root.endpoint.delete_server(a_user(), uuid)


def listed(root: Zone, **arguments: Any) -> list[str]:
    given: dict[str, Any] = {"filters": ServerFilters(), "limit": 100, **arguments}
    answer = root.endpoint.list_servers(a_user(), **given)
    return [one.uuid for one in answer.instances]


def test_an_operation_is_done_where_the_server_is(root: Zone, uuid: str) -> None:
    """Its origin and the zone between have nothing to do with it."""
    root.endpoint.operate_server(a_user(), uuid, "stop", OperationArguments())
    assert [begun[:2] for begun in child(root, "eu-1").cell().begun] == [(uuid, "stop")]


def test_an_operation_on_a_server_of_a_silent_zone_is_done_later(root: Zone, uuid: str) -> None:
    """It is stored at the origin, and carried out once when the zone is back."""
    root.zone_buses["kombu+memory:////eu"].is_down = True
    root.endpoint.operate_server(a_user(), uuid, "stop", OperationArguments())
    root.recover()
    assert root.left() == [f"deferred_operations: {uuid}"]
    root.zone_buses["kombu+memory:////eu"].is_down = False
    root.clock.advance(60)
    root.recover()
    assert root.left() == []
    assert [begun[:2] for begun in child(root, "eu-1").cell().begun] == [(uuid, "stop")]


def test_a_server_that_arrives_while_it_is_looked_for_is_found(root: Zone) -> None:
    """X3: its walk ends between the look at its mapping and the look at this zone."""
    (made,) = create(root, "eu/eu-1:cell1-host1")

    def here() -> Instance:
        root.walk()
        return root.servers.get_server(a_user(), made)

    found = root.elsewhere.get_server(a_user(), made, here)
    assert (found.uuid, found.vm_state, found.zone) == (made, "active", "eu/eu-1")


def test_a_server_that_is_nowhere_is_asked_for_once(root: Zone) -> None:
    """What has not moved meanwhile is not there."""
    asked = []

    def here() -> Instance:
        asked.append(1)
        raise exception.InstanceNotFound(instance_uuid=a_uuid())

    with pytest.raises(exception.InstanceNotFound):
        root.elsewhere.get_server(a_user(), a_uuid(), here)
    assert asked == [1]


def test_a_flavor_is_that_of_the_origin(root: Zone, uuid: str) -> None:
    """The zone has none by that name; the one that its user means travels."""
    root.add_flavor("larger", vcpus=4)
    resize = OperationArguments(flavor="larger")
    root.endpoint.operate_server(a_user(), uuid, "resize", resize)
    root.work_all()
    begun = child(root, "eu-1").cell().begun
    assert [(operation, move["new_flavor"].vcpus) for _uuid, operation, move in begun] == [
        ("resize", 4)
    ]


def test_a_bad_operation_is_refused_as_here(root: Zone, uuid: str) -> None:
    """The answer of the zone is the answer."""
    with pytest.raises(exception.Invalid):
        root.endpoint.operate_server(a_user(), uuid, "paint", OperationArguments())


def test_its_console_and_actions_come_from_there(root: Zone, uuid: str) -> None:
    """The console is that of its cell."""
    assert root.endpoint.get_console_output(a_user(), uuid, None) == "hello\n"
    assert root.endpoint.list_server_actions(a_user(), uuid) == []
    assert root.endpoint.get_diagnostics(a_user(), uuid).driver == "simulated"
    root.endpoint.set_admin_password(a_user(), uuid, "new")
    root.endpoint.trigger_crash_dump(a_user(), uuid)
    assert (uuid, "trigger_crash_dump", {}) in child(root, "eu-1").cell().begun


# Migrations


def moved(root: Zone, uuid: str) -> Migration:
    """Have the zone of a server know a migration of it, and one of another server."""
    cell = child(root, "eu-1").cell()
    cell.migrations = [a_migration(uuid), a_migration(a_uuid())]
    return cell.migrations[0]


def migrations(root: Zone, server: str, **filters: Any) -> MigrationPage:
    asked_for = MigrationFilters(instance_uuid=server, **filters)
    return root.endpoint.list_migrations(an_admin(), asked_for, 10)


def test_its_migrations_are_those_that_its_zone_shows(root: Zone, uuid: str) -> None:
    """All of them, or one; those of the zone's other servers are unknown here."""
    move = moved(root, uuid)
    there = migrations(child(root, "eu-1"), uuid)
    assert [one.uuid for one in there.migrations] == [move.uuid]
    for found in (migrations(root, uuid), migrations(root, uuid, uuid=move.uuid)):
        assert found.down_cells == []
        assert [one.obj_to_primitive() for one in found.migrations] == [
            one.obj_to_primitive() for one in there.migrations
        ]
    assert migrations(root, uuid, uuid=a_uuid()).migrations == []


def test_its_migration_is_ended_where_it_is(root: Zone, uuid: str) -> None:
    """One that is none is refused as there."""
    move = moved(root, uuid)
    root.endpoint.abort_migration(an_admin(), uuid, move.uuid)
    begun = child(root, "eu-1").cell().begun
    assert begun == [(uuid, "abort", {"migration_uuid": move.uuid})]
    with pytest.raises(exception.MigrationNotFound):
        root.endpoint.abort_migration(an_admin(), uuid, a_uuid())


def test_migrations_go_by_the_name_that_a_server_has_here(root: Zone) -> None:
    """Its first attempt failed in the same zone, so it has another one there."""
    cell = child(root, "us").cell()
    cell.failing_hosts = {"cell1-host1"}
    (uuid,) = create(root, "us:cell1-host1", "us:cell1-host2")
    root.walk()
    (local_uuid,) = (one.uuid for one in cell.instances.values() if one.vm_state == "active")
    assert local_uuid != uuid
    cell.migrations = [a_migration(local_uuid)]
    (found,) = migrations(root, uuid).migrations
    assert found.instance_uuid == uuid
    root.endpoint.abort_migration(an_admin(), uuid, found.uuid)
    assert cell.begun == [(local_uuid, "abort", {"migration_uuid": found.uuid})]


def test_a_cell_there_that_is_silent_is_named_with_its_zone(root: Zone, uuid: str) -> None:
    """The list is what the other cells know."""
    moved(root, uuid)
    child(root, "eu-1").cell().error = TimeoutError("no answer")
    found = migrations(root, uuid)
    assert (found.migrations, found.down_cells) == ([], ["cell1 of zone eu/eu-1"])


def test_others_do_not_see_it(root: Zone, uuid: str) -> None:
    """Another project's user, here and there."""
    with pytest.raises(exception.InstanceNotFound):
        root.endpoint.get_server(a_user("p2"), uuid)
    with pytest.raises(exception.InstanceNotFound):
        root.endpoint.operate_server(a_user("p2"), uuid, "stop", OperationArguments())


def test_a_server_of_a_silent_zone_is_there_all_the_same(root: Zone, uuid: str) -> None:
    """It is not unknown: its zone is out of reach."""
    root.bus_to(child(root, "eu")).is_down = True
    with pytest.raises(exception.ZoneUnavailable):
        show(root, uuid)


# Lists


def test_a_list_has_the_servers_of_all_zones(root: Zone, uuid: str) -> None:
    """Newest first, each once, whatever it is called where it lives."""
    child(root, "root").cell().failing_hosts = {"cell1-host1"}
    root.clock.advance(10)
    (own,) = create(root, ":cell1-host1", ":cell1-host2")
    root.walk()
    root.clock.advance(10)
    (other,) = create(root, "us:cell1-host1")
    root.walk()
    root.settle_all()
    assert listed(root) == [other, own, uuid]
    assert listed(root, limit=2) == [other, own]
    assert listed(root, limit=2, marker=own) == [uuid]


def test_a_zone_that_does_not_answer_is_named(root: Zone, uuid: str) -> None:
    """The list is partial and says so."""
    (other,) = create(root, "us:cell1-host1")
    root.walk()
    root.bus_to(child(root, "eu")).is_down = True
    answer = root.endpoint.list_servers(a_user(), ServerFilters(), 10)
    assert [one.uuid for one in answer.instances] == [other]
    assert answer.down_cells == ["zone eu/eu-1"]


def test_a_zone_shows_its_own_servers_to_no_zone_above(root: Zone, uuid: str) -> None:
    """Those that its own users asked for there, of the same project."""
    own = child(root, "eu-1")
    own.build(2)
    assert len(listed(own)) == 3
    assert listed(root) == [uuid]
    with pytest.raises(exception.InstanceNotFound):
        root.endpoint.get_server(an_admin(), listed(own)[0])


def test_a_server_counts_once_against_the_quota(root: Zone, uuid: str) -> None:
    """At its origin, also when it was built there under another name."""
    (own,) = create(root, ":cell1-host1")
    root.walk()
    assert show(root, own).zone is None
    with root.database.reader() as session:
        assert quotas.count_usage(session, PROJECT)["instances"] == 2


# Quota


SMALL, LARGE = (1, 512), (4, 2048)
PATIENCE_SECONDS = 3 * 60.0 + 1.0
"""After that no order can be on its way to the grandchild any more."""


def usage(zone: Zone) -> tuple[int, int]:
    used = zone.database.read(quotas.count_usage, PROJECT)
    return used["cores"], used["ram"]


def limit_cores(zone: Zone, cores: int) -> None:
    with zone.database.writer() as session:
        quotas.set_limits(session, PROJECT, {"cores": cores})


def resize(root: Zone, uuid: str, flavor: str = "large") -> None:
    asked = OperationArguments(flavor=flavor)
    root.endpoint.operate_server(a_user(), uuid, "resize", asked)


def reconcile_sizes(root: Zone) -> int:
    """Let all zones count again what was resized, the owners first."""
    for zone in root.all_zones():
        zone.resize_usage.reconcile()
    return root.reconciler.reconcile_sizes()


@pytest.fixture
def large(root: Zone) -> Flavor:
    return root.add_flavor("large", vcpus=LARGE[0], memory_mb=LARGE[1])


@pytest.fixture
def resized(root: Zone, uuid: str, large: Flavor) -> str:
    """Lend a server of the grandchild that waits to be confirmed."""
    resize(root, uuid)
    root.work_all()
    root.clock.advance(PATIENCE_SECONDS)
    return uuid


def test_a_resize_counts_the_larger_immediately(root: Zone, resized: str) -> None:
    """And as long as it may be reverted."""
    assert reconcile_sizes(root) == 0
    assert usage(root) == LARGE


@pytest.mark.parametrize("kept", ["large", "small"])
def test_the_end_of_a_resize_is_counted_at_the_origin(
    root: Zone, resized: str, large: Flavor, kept: str
) -> None:
    """Confirmed or reverted; once its zone knows."""
    cell = child(root, "eu-1").cell()
    small = cell.build_requests[0].instance.flavor
    cell.end_resize(resized, flavor={"large": large, "small": small}[kept])
    assert reconcile_sizes(root) == 1
    assert usage(root) == {"large": LARGE, "small": SMALL}[kept]
    assert reconcile_sizes(root) == 0


def test_a_resize_over_the_quota_never_gets_there(root: Zone, uuid: str, large: Flavor) -> None:
    """The quota is that of its origin."""
    limit_cores(root, 3)
    with pytest.raises(exception.QuotaExceeded):
        resize(root, uuid)
    assert child(root, "eu-1").cell().begun == []
    assert usage(root) == SMALL


def test_the_zone_looks_at_no_quota_of_its_own(root: Zone, uuid: str, large: Flavor) -> None:
    """As when it built the server."""
    limit_cores(child(root, "eu-1"), 0)
    resize(root, uuid)
    root.work_all()
    assert usage(child(root, "eu-1")) == LARGE


def test_an_own_server_with_another_name_is_checked_once(root: Zone, large: Flavor) -> None:
    """It fits, as it counts once."""
    root.cell().failing_hosts = {"cell1-host1"}
    (uuid,) = create(root, ":cell1-host1", ":cell1-host2")
    root.walk()
    root.settle_all()
    limit_cores(root, 4)
    resize(root, uuid)
    root.work_all()
    assert usage(root) == LARGE


def test_a_refused_resize_gives_the_quota_back(root: Zone, uuid: str, large: Flavor) -> None:
    """Not before its order could come no more, had it been on its way."""
    child(root, "eu-1").cell().refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="resize", reason="it is paused"
    )
    with pytest.raises(exception.InstanceInvalidState):
        resize(root, uuid)
    root.settle_all()
    assert reconcile_sizes(root) == 0
    assert usage(root) == LARGE
    root.clock.advance(PATIENCE_SECONDS)
    assert reconcile_sizes(root) == 1
    assert usage(root) == SMALL


def test_another_resize_meanwhile_stays_counted(root: Zone, resized: str, large: Flavor) -> None:
    """Its order was given while the zone told of the first one."""
    cell = child(root, "eu-1").cell()
    cell.end_resize(resized, flavor=cell.build_requests[0].instance.flavor)
    child(root, "eu-1").resize_usage.reconcile()
    root.bus_to(child(root, "eu")).meanwhile(
        "get_attempts", lambda: resize(root, resized), when_done=True
    )
    assert root.reconciler.reconcile_sizes() == 0
    assert usage(root) == LARGE


def test_a_resize_that_was_asked_for_in_the_zone_is_counted(
    root: Zone, uuid: str, large: Flavor
) -> None:
    """The origin finds out by itself."""
    owner = child(root, "eu-1")
    owner.add_flavor("large", vcpus=LARGE[0], memory_mb=LARGE[1])
    resize(owner, uuid)
    owner.work_all()
    root.reconciler.reconcile_deleted()
    assert usage(root) == LARGE
    owner.cell().end_resize(uuid, flavor=owner.cell().build_requests[0].instance.flavor)
    assert reconcile_sizes(root) == 1
    assert usage(root) == SMALL


@pytest.mark.parametrize(
    "size",
    [None, ServerSize(-1, 1, is_resizing=False), ServerSize(1, 2**31, is_resizing=False)],
    ids=["an older zone", "less than nothing", "too much"],
)
def test_a_zone_that_tells_no_size_changes_nothing(
    root: Zone, resized: str, monkeypatch: pytest.MonkeyPatch, size: ServerSize | None
) -> None:
    """The larger counts until it does."""
    owner = child(root, "eu-1")
    told = owner.zones.own.get_attempts

    def tell(*args: Any) -> Attempts:
        return {uuid: dataclasses.replace(each, size=size) for uuid, each in told(*args).items()}

    monkeypatch.setattr(owner.zones.own, "get_attempts", tell)
    owner.cell().end_resize(resized, flavor=owner.cell().build_requests[0].instance.flavor)
    assert reconcile_sizes(root) == 0
    assert usage(root) == LARGE


# Deletes


def test_a_delete_reaches_the_zone(root: Zone, uuid: str) -> None:
    """Nothing is left of it, anywhere."""
    delete(root, uuid)
    root.settle_all()
    assert root.living(uuid) == []
    assert root.held() == 0
    with pytest.raises(exception.InstanceNotFound):
        show(root, uuid)


def test_a_delete_is_accepted_while_the_zone_is_silent(root: Zone, uuid: str) -> None:
    """And is brought there when it is back."""
    bus = root.bus_to(child(root, "eu"))
    bus.is_down = True
    delete(root, uuid)
    root.clock.advance(100)
    root.recover()
    assert root.living(uuid) == [("eu-1", "active")]
    bus.is_down = False
    root.settle_all()
    assert root.living(uuid) == []


@pytest.mark.parametrize("looks", range(6))
@pytest.mark.sampled(every=3)
def test_a_delete_on_the_way_ends_the_walk(root: Zone, looks: int) -> None:
    """At any stage of it: nothing lives, nothing is held, nothing is left to do."""
    for name in ("eu", "us"):
        child(root, name).cell().failing_hosts = {"cell1-host1"}
    child(root, "us").cell().slow_hosts = {"cell1-host2"}
    (uuid,) = create(root, "eu:cell1-host1", "us:cell1-host1", "us:cell1-host2")
    for _ in range(looks):
        root.workers.work()
        root.look_again()
    delete(root, uuid)
    root.settle_all()
    assert root.living(uuid) == []
    assert root.held() == 0
    assert root.places(uuid) == []


def test_a_delete_may_be_killed_at_any_effect(root: Zone) -> None:
    """Accepted is stored; what was not done is done by another conductor."""
    root.scheduler.zone_entries = root.entries("eu:cell1-host1")
    for effect in moments("delete", begin=1.0):
        assert effect < 30
        (uuid,) = root.create()
        root.walk()
        is_over = not root.killed_at(effect, partial(delete, root, uuid))
        delete_again = root.living(uuid) and not root.left()
        if delete_again:
            delete(root, uuid)
        root.settle_all()
        assert root.living(uuid) == []
        if is_over:
            return


def test_a_server_that_its_zone_deleted_is_gone_here(root: Zone, uuid: str) -> None:
    """The origin finds out by itself, and counts it no more."""
    child(root, "eu-1").endpoint.delete_server(a_user(), uuid)
    child(root, "eu-1").settle_all()
    root.reconciler.reconcile_deleted()
    root.settle_all()
    with root.database.reader() as session:
        assert quotas.count_usage(session, PROJECT)["instances"] == 0


def test_a_doubtful_server_may_be_deleted(root: Zone) -> None:
    """The record here goes, and what the zone may have goes when it is back."""
    eu = child(root, "eu")
    eu.cell().slow_hosts = {"cell1-host1"}
    (uuid,) = create(root, "eu:cell1-host1")
    root.work_all()
    root.bus_to(eu).is_down = True
    root.look_again(seconds=301)
    assert root.places(uuid) == [CELL0_UUID]
    delete(root, uuid)
    root.clock.advance(100)
    root.recover()
    assert root.places(uuid) == []
    root.bus_to(eu).is_down = False
    root.settle_all()
    assert root.living(uuid) == []
    assert root.held() == 0
