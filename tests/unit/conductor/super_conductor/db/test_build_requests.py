"""Tests of storing build requests, on every engine."""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy.orm import Session

from armillary.db import Database
from conductor.common.leases import Lease
from conductor.super_conductor.db import build_requests, request_specs, reservations
from conductor.super_conductor.db.build_requests import NewBuildRequest, NewSelections
from conductor.super_conductor.db.request_specs import NewSpec
from conductor.super_conductor.db.reservations import NewReservation
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_filters import ServerFilters
from objects.request_spec import RequestSpec
from objects.selection import Selection
from tests import builders
from tests.fixtures.control_plane import NOW, a_user

CELL = "c0ffee00-0000-4000-8000-000000000001"
UUIDS = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(4)]


def store(session: Session, count: int = 3) -> None:
    """Store a reservation of some instances, each made a second after the one before."""
    lease = Lease("r-1", "me", 0.0)
    reservation = NewReservation.under(lease, a_user(), project_id="p1", accepted_at=NOW)
    reservations.add_reservations(session, [reservation])
    spec = RequestSpec.from_values(project_id="p1", user_id="u1", flavor=builders.a_flavor())
    rows = []
    for index, uuid in enumerate(UUIDS[:count]):
        created_at = NOW + timedelta(seconds=index)
        made = builders.an_instance(f"Web_{index}", uuid=uuid, created_at=created_at)
        rows.append(
            NewBuildRequest(
                uuid, "r-1", "p1", made.name, index, made.obj_to_primitive(), created_at
            )
        )
    build_requests.add_build_requests(session, rows)
    specs = [NewSpec(uuid, spec.obj_to_primitive()) for uuid in UUIDS[:count]]
    request_specs.add_specs(session, specs)


def a_row(uuid: str, host: str = "h1") -> NewSelections:
    chosen = Selection.from_values(
        compute_node_uuid=builders.a_uuid(), service_host=host, nodename=host, cell_uuid=CELL,
        allocation_request={},
    )  # fmt: skip
    return NewSelections(uuid, CELL, 1000, [chosen.obj_to_primitive()])


def names(session: Session, limit: int = 10, marker: Any = None, **filters: Any) -> list[str]:
    found = build_requests.list_page(
        session, filters=ServerFilters(**filters), limit=limit, marker=marker
    )
    return [one.name for one in found]


def test_pages_are_newest_first(any_api_database: Database) -> None:
    """A marker is the last one before."""
    with any_api_database.writer() as session:
        store(session)
        assert names(session, limit=2) == ["Web_2", "Web_1"]
        marker = InstanceMarker(NOW + timedelta(seconds=1), UUIDS[1])
        assert names(session, marker=marker) == ["Web_0"]


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ({"name": "eb_"}, 3),
        ({"name": "WEB_1"}, 1),
        ({"name": "%"}, 0),
        ({"status": "BUILD"}, 3),
        ({"status": "ACTIVE"}, 0),
        ({"host": "h1"}, 0),
        ({"uuid": UUIDS[1]}, 1),
        ({"flavor": "id-small", "user_id": "u1", "vm_state": "active"}, 3),
        ({"flavor": "id-large"}, 0),
        ({"image": UUIDS[0]}, 0),
        ({"availability_zone": "north"}, 0),
        ({"changed_since": NOW + timedelta(seconds=1)}, 2),
        ({"changed_before": NOW + timedelta(seconds=1)}, 2),
        ({"project_id": "p2"}, 0),
        ({"reservation_id": "r-1", "project_id": "p1"}, 3),
    ],
    ids=str,
)
def test_filters(any_api_database: Database, filters: dict[str, Any], count: int) -> None:
    """Names by a part in any case, taken literally; what is being built has no host."""
    with any_api_database.writer() as session:
        store(session)
        assert len(names(session, **filters)) == count


def test_a_marked_build_request_is_shown_no_more(any_api_database: Database) -> None:
    """Marking what is not there says so."""
    with any_api_database.writer() as session:
        store(session, 2)
        assert build_requests.mark_deleting(session, UUIDS[0])
        assert not build_requests.mark_deleting(session, UUIDS[3])
        assert names(session) == ["Web_1"]
        assert build_requests.find_instance(session, UUIDS[0]) is None
        assert build_requests.find_instance(session, UUIDS[1]) is not None


def test_selections_are_stored_once(any_api_database: Database) -> None:
    """What a cell may know already is not replaced."""
    with any_api_database.writer() as session:
        store(session, 2)
        build_requests.store_selections(session, [a_row(UUIDS[0])])
        build_requests.store_selections(session, [a_row(UUIDS[0], "other")])
        pending = build_requests.list_pending(session, "r-1")
        assert [one.cell_uuid for one in pending] == [CELL, None]
        first, second = build_requests.list_build_requests(session, UUIDS)
        assert [one.service_host for one in first.selections] == ["h1"]
        assert (first.fence, second.fence, second.selections) == (1000, 0, [])
        assert build_requests.selected_hosts(session, UUIDS) == ["h1"]


def test_selections_go_with_their_build_request(any_api_database: Database) -> None:
    """And the others stay."""
    with any_api_database.writer() as session:
        store(session, 2)
        build_requests.store_selections(session, [a_row(uuid) for uuid in UUIDS[:2]])
        build_requests.lock(session, ["r-1"])
        build_requests.delete_build_requests(session, UUIDS[:1])
        assert [one.instance_uuid for one in build_requests.list_pending(session, "r-1")] == [
            UUIDS[1]
        ]
        assert build_requests.selected_hosts(session, UUIDS) == ["h1"]
