"""Instances in the database: inserted once, found while they live, listed page by page."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.context import admin_context
from armillary.db import Database
from conductor.common.cell_db import actions, compute_nodes, faults, instances, models
from objects.instance import Instance
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ANY, DELETED, ServerFilters
from tests.builders import A_TIME, a_fault, a_uuid, a_uuid_of, an_image, an_instance
from tests.fixtures.cell import counted_statements

CELL = "c0ffee00-0000-4000-8000-000000000001"
NOW = A_TIME + timedelta(hours=1)


def insert(database: Database, *made: Instance) -> list[str]:
    return database.run_in_writer(instances.insert, made, now=NOW)


def store_in_cell0(database: Database, instance: Instance, **fault: Any) -> bool:
    found = a_fault(instance.uuid, attempt=0, **fault)
    return database.run_in_writer(
        lambda s: bool(instances.insert_failed(s, admin_context(), [instance], found, now=NOW))
    )


def get(database: Database, uuid: str) -> Instance:
    return database.read(instances.get, uuid, cell_uuid=CELL)


def page(
    database: Database, limit: int = 100, marker: InstanceMarker | None = None, **filters: Any
) -> list[str]:
    found = database.read(
        instances.list_page,
        filters=ServerFilters(**filters),
        limit=limit,
        marker=marker,
        cell_uuid=CELL,
    )
    return [instance.name for instance in found]


def test_an_instance_comes_back_as_it_was_inserted(database: Database) -> None:
    """Every field, nested ones too; its cell is the reader's."""
    made = an_instance(
        image=an_image(), metadata={"a": "b"}, group_uuid=a_uuid(), exit_code=-9,
        request_id="req-1", launch_index=3,
    )  # fmt: skip
    insert(database, made)
    assert get(database, made.uuid).to_plain() == made.with_values(cell_uuid=CELL).to_plain()


def test_an_instance_shows_the_address_of_its_node(database: Database) -> None:
    """Nothing without a host, or on another node."""
    here = an_instance("here", host="host1", node="host1")
    made = (here, an_instance("other", node="node2"), an_instance("none", host=None, node=None))
    insert(database, *made)
    node: dict[str, Any] = {"inventories": {}, "sent_traits": {}, "allocation_ratios": {}}
    node |= {"uuid": a_uuid(), "host": "host1", "node": "host1", "seq": 1, "provider_digest": ""}
    node |= {"attributes": {"host_ip": "192.0.2.7"}, "traits": [], "created_at": NOW}
    database.run_in_writer(compute_nodes.add, [node])
    assert [get(database, each.uuid).host_ip for each in made] == ["192.0.2.7", None, None]


def test_an_instance_is_inserted_once(database: Database) -> None:
    """Those that are new are told; also within one call."""
    first, second = an_instance(), an_instance()
    assert insert(database, first, first) == [first.uuid]
    assert insert(database, first, second) == [second.uuid]


def test_the_time_of_creation_is_kept_in_whole_seconds(database: Database) -> None:
    """As it is on the wire: a page's marker must compare equal."""
    made = an_instance(created_at=A_TIME + timedelta(microseconds=999_999))
    unknown = an_instance(created_at=None)
    insert(database, made, unknown)
    assert get(database, made.uuid).created_at == A_TIME
    assert get(database, unknown.uuid).created_at == NOW


def test_a_failed_instance_is_stored_with_its_fault_and_action(database: Database) -> None:
    """On no host, whatever it was before; the action failed at scheduling."""
    made = an_instance(vm_state="building", task_state="scheduling", request_id="req-1")
    assert store_in_cell0(database, made, message="No valid host.", details="why")
    found = get(database, made.uuid)
    assert (found.vm_state, found.task_state, found.host) == ("error", None, None)
    assert found.fault is not None
    assert (found.fault.message, found.fault.details) == ("No valid host.", "why")
    [action] = database.read(actions.list_of, made.uuid)
    assert (action.action, action.request_id, action.message) == ("create", "req-1", "Error")
    assert [(event.result, event.details) for event in action.events] == [("Error", "why")]


def test_storing_a_failed_instance_twice_stores_it_once(database: Database) -> None:
    """Also after it was deleted: it does not come back."""
    made = an_instance()
    assert store_in_cell0(database, made)
    assert not store_in_cell0(database, made, message="another")
    database.run_in_writer(instances.delete, made.uuid, now=NOW)
    assert not store_in_cell0(database, made)
    with database.reader() as session:
        assert len(faults.list_of(session, made.uuid)) == 1
        assert len(actions.list_of(session, made.uuid)) == 1


def test_storing_two_hundred_takes_as_many_statements_as_storing_two(database: Database) -> None:
    """A request for many that finds no host ends as quickly as one for a few."""
    counts = []
    for number in (2, 200):
        made = [an_instance() for _ in range(number)]
        fault = a_fault(made[0].uuid, attempt=0)
        with database.writer() as session, counted_statements(database) as statements:
            new = instances.insert_failed(session, admin_context(), made, fault, now=NOW)
        assert new == [instance.uuid for instance in made]
        counts.append(len(statements))
    assert counts[0] == counts[1]
    assert all(found.fault for found in _errors(database))


def _errors(database: Database) -> list[Instance]:
    return database.read(
        instances.list_page, filters=ServerFilters(status="ERROR"), limit=1000, cell_uuid=CELL
    )


def test_deleted_instances_are_listed_when_asked_for(database: Database) -> None:
    """By when they existed."""
    for name in ("gone", "alive"):
        insert(database, an_instance(name, created_at=NOW))
    with database.reader() as session:
        uuids = {one.name: one.uuid for one in instances.list_page(
            session, filters=ServerFilters(), limit=9, cell_uuid=CELL)}  # fmt: skip
    database.run_in_writer(instances.delete, uuids["gone"], now=NOW)
    assert page(database) == ["alive"]
    assert page(database, existence=DELETED) == ["gone"]
    assert set(page(database, existence=ANY)) == {"gone", "alive"}
    assert page(database, existence=ANY, existed_since=NOW + timedelta(hours=1)) == ["alive"]
    assert page(database, existence=ANY, created_before=NOW) == []


def test_soft_deleted_instances_count_as_deleted_if_the_list_says_so(database: Database) -> None:
    """By default as alive; in a list of all they are in any case."""
    insert(database, an_instance("kept", vm_state="soft-delete"), an_instance("alive"))
    assert set(page(database)) == {"kept", "alive"}
    assert page(database, existence=DELETED) == []
    assert page(database, soft_deleted_is_deleted=True) == ["alive"]
    assert page(database, existence=DELETED, soft_deleted_is_deleted=True) == ["kept"]
    assert set(page(database, existence=ANY, soft_deleted_is_deleted=True)) == {"kept", "alive"}


def test_a_deleted_instance_is_not_found(database: Database) -> None:
    """By nothing that lists or gets; deleting again says that there was none."""
    made = an_instance()
    insert(database, made)
    assert database.run_in_writer(instances.delete, made.uuid, now=NOW)
    assert not database.run_in_writer(instances.delete, made.uuid, now=NOW)
    with pytest.raises(exception.InstanceNotFound, match=made.uuid):
        get(database, made.uuid)
    assert page(database) == []
    with database.reader() as session:
        assert instances.hosts_of(session, [made.uuid]) == {}
        assert instances.uuids_on_hosts(session) == {}
        assert instances.list_on_hosts(session, ["host1"], cell_uuid=CELL) == []


def test_pages_are_newest_first_and_join_up(database: Database) -> None:
    """Also where many were created in the same second."""
    made = [
        an_instance(f"i{number}", created_at=A_TIME + timedelta(seconds=number // 3))
        for number in range(10)
    ]
    insert(database, *made)
    whole = page(database)
    paged: list[str] = []
    marker = None
    while names := page(database, limit=4, marker=marker):
        paged += names
        last = next(instance for instance in made if instance.name == names[-1])
        assert last.created_at is not None
        marker = InstanceMarker(last.created_at, last.uuid)
    assert paged == whole
    newest_first = sorted(made, key=lambda i: (i.created_at, i.uuid), reverse=True)
    assert whole == [instance.name for instance in newest_first]


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"project_id": "p2"}, ["other"]),
        ({"name": "EB"}, ["web-1"]),
        ({"name": "%"}, ["100%"]),
        ({"status": "ERROR"}, ["100%"]),
        ({"status": "SHUTOFF"}, ["other"]),
        ({"status": "NO-SUCH"}, []),
        ({"status": "NO-SUCH,SHUTOFF,ERROR"}, ["100%", "other"]),
        ({"host": "h9"}, ["web-1"]),
        ({"reservation_id": "r-9"}, ["other"]),
        ({"all_projects": True, "host": None}, ["100%", "other", "web-1"]),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_filters_choose_what_is_listed(
    database: Database, filters: dict[str, Any], names: list[str]
) -> None:
    """Equal values, parts of names in any case; nulls and all_projects choose everything."""
    insert(
        database,
        an_instance("web-1", host="h9"),
        an_instance("100%", vm_state="error"),
        an_instance("other", project_id="p2", vm_state="stopped", reservation_id="r-9"),
    )
    assert sorted(page(database, **filters)) == names


def test_only_an_instance_in_error_shows_its_fault(database: Database) -> None:
    """The last one; a list reads those of all its instances in one statement."""
    well, ill = an_instance("well"), an_instance("ill", vm_state="error")
    insert(database, well, ill)

    def record(session: Any) -> None:
        for uuid in (well.uuid, ill.uuid):
            for attempt in (1, 2):
                fault = a_fault(uuid, attempt=attempt, message=f"attempt {attempt}")
                faults.record(session, fault, now=NOW)

    database.run_in_writer(record)
    assert get(database, well.uuid).fault is None
    shown = get(database, ill.uuid).fault
    assert shown is not None
    assert shown.message == "attempt 2"


def test_rows_that_are_changed_together_are_as_the_table_has_them(database: Database) -> None:
    """A later change of one of them is stored, too; others are left alone."""
    changed, more, other = (an_instance(vm_state="building") for _ in range(3))
    insert(database, changed, more, other)

    def change(session: Session) -> list[str]:
        rows = instances.lock_all(session, [changed.uuid, more.uuid])
        instances.set_all(session, list(rows.values()), {"vm_state": "active", "updated_at": NOW})
        states = [row.vm_state for row in rows.values()]
        rows[more.uuid].vm_state = "stopped"
        return states

    assert database.run_in_writer(change) == ["active", "active"]
    assert get(database, changed.uuid).updated_at == NOW
    states = [get(database, one.uuid).vm_state for one in (changed, more, other)]
    assert states == ["active", "stopped", "building"]


def test_hosts_are_those_of_the_living_that_have_one(database: Database) -> None:
    """By instance, by group, by host."""
    group = a_uuid()
    on_a, on_b = an_instance(host="a", group_uuid=group), an_instance(host="b")
    nowhere = an_instance(host=None, group_uuid=group)
    insert(database, on_a, on_b, nowhere)
    with database.reader() as session:
        found = instances.hosts_of(session, [on_a.uuid, nowhere.uuid, a_uuid()])
        assert found == {on_a.uuid: "a"}
        assert instances.hosts_of_group(session, group) == {on_a.uuid: "a"}
        assert instances.uuids_on_hosts(session, ["b"]) == {"b": [on_b.uuid]}
        assert set(instances.uuids_on_hosts(session)) == {"a", "b"}


def test_names_on_hosts_are_limited_for_each_host(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Newest first, without deleted ones."""
    monkeypatch.setattr(instances, "NAMES_OF_HOST_MAX", 2)
    on_a = [an_instance(f"a{n}", host="a", created_at=A_TIME + timedelta(n)) for n in range(3)]
    on_b, gone = an_instance("b", host="b", node=None), an_instance("gone", host="b")
    insert(database, *on_a, on_b, gone, an_instance("c", host="c"))
    database.run_in_writer(instances.delete, gone.uuid, now=NOW)
    found = database.read(instances.names_on_hosts, ["a", "b"])
    assert [(one.name, one.host, one.node) for one in found] == [
        ("a2", "a", "node1"), ("a1", "a", "node1"), ("b", "b", None),
    ]  # fmt: skip


def test_purging_removes_what_was_deleted_before(database: Database) -> None:
    """All of them, a batch at a time; rows and all that belongs to them."""
    made = [an_instance() for _ in range(3)]
    for instance in made:
        store_in_cell0(database, instance)
    uuids = [instance.uuid for instance in made]
    database.run_in_writer(instances.delete_all, uuids, now=NOW)
    later = NOW + timedelta(seconds=1)
    counts = [instances.purge(database, deleted_before=later, batch_size=2) for _ in range(2)]
    assert counts == [3, 0]
    with database.reader() as session:
        for model in (models.InstanceFault, models.InstanceAction, models.InstanceActionEvent):
            assert session.query(model).count() == 0


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ({"flavor": "id-small"}, ["a", "b"]),
        ({"flavor": "small"}, []),
        ({"image": a_uuid_of("loop")}, ["a"]),
        ({"user_id": "u2"}, ["b"]),
        ({"uuid": a_uuid_of("b")}, ["b"]),
        ({"availability_zone": "north"}, ["b"]),
        ({"vm_state": "stopped"}, ["b"]),
        ({"status": "REBOOT"}, ["a"]),
        ({"status": "SHUTOFF"}, ["b"]),
        ({"status": "REBOOT,SHUTOFF"}, ["a", "b"]),
        ({"status": "FINE"}, []),
        ({"changed_since": A_TIME + timedelta(minutes=1)}, ["b"]),
        ({"changed_before": A_TIME + timedelta(minutes=1)}, ["a"]),
        ({"flavor": "id-small", "user_id": "u2"}, ["b"]),
    ],
    ids=str,
)
def test_instances_are_found_by_what_is_known_of_them(
    filters: dict[str, Any], found: list[str], database: Database
) -> None:
    """All conditions hold."""
    image = an_image("loop", id=a_uuid_of("loop"))
    insert(
        database,
        an_instance("a", uuid=a_uuid_of("a"), image=image, task_state="rebooting"),
        an_instance(
            "b", uuid=a_uuid_of("b"), user_id="u2", availability_zone="north", vm_state="stopped",
            updated_at=A_TIME + timedelta(minutes=2),
        ),
    )  # fmt: skip
    assert sorted(page(database, **filters)) == found
