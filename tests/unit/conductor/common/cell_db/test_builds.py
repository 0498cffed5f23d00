"""Builds in the database: as they were handed over, and whose they are."""

from typing import Any

import sqlalchemy as sa

from armillary.db import Database
from conductor.common.cell_db import builds, instances, models
from conductor.common.cell_db.builds import Stage
from conductor.common.leases import Lease
from objects.instances.build_request import BuildRequest
from objects.selection import Selection
from tests.builders import A_TIME
from tests.fixtures.cell import FENCE, a_build_request


def insert(database: Database, *requests: BuildRequest) -> None:
    def write(session: Any) -> None:
        for request in requests:
            request.instance.host = request.selections[0].service_host
        instances.insert(session, [request.instance for request in requests], now=A_TIME)
        leases = {r.instance_uuid: Lease(r.instance_uuid, "me", 5.0) for r in requests}
        builds.insert(session, requests, leases, now=A_TIME)

    database.run_in_writer(write)


def test_a_build_is_stored_as_it_was_handed_over(database: Database) -> None:
    """At its first attempt, with all its hosts and its fence, under its lease."""
    request = a_build_request("a", "b")
    insert(database, request)
    [row] = database.read(builds.ROWS.list_by_uuids, [request.instance_uuid, "no-such"])
    assert (row.stage, row.attempt, row.position, row.fence) == (Stage.BUILD, 1, 0, FENCE)
    assert (row.lease_owner, row.lease_expires_at) == ("me", 5.0)
    stored = [Selection.obj_from_primitive(primitive).to_plain() for primitive in row.selections]
    assert stored == [selection.to_plain() for selection in request.selections]


def test_builds_in_progress_are_those_of_the_hosts_in_just_these_attempts(
    database: Database,
) -> None:
    """Not another host's, not another attempt, not one that waits for a claim."""
    here, elsewhere, later, claiming = (a_build_request(host) for host in "abaa")
    insert(database, here, elsewhere, later, claiming)
    with database.writer() as session:
        row = session.get(models.InstanceBuild, claiming.instance_uuid)
        assert row is not None
        row.stage = Stage.CLAIM
    attempts = {
        here.instance_uuid: 1, elsewhere.instance_uuid: 1, later.instance_uuid: 2,
        claiming.instance_uuid: 1, "no-such": 1,
    }  # fmt: skip
    with database.reader() as session:
        assert builds.list_building(session, attempts, ["a"]) == [here.instance_uuid]


def test_what_a_build_was_asked_is_read_when_it_is_needed(database: Database) -> None:
    """A lock without it says the rest."""
    request = a_build_request("a")
    insert(database, request)
    with database.writer() as session:
        row = builds.lock_without_specs(session, [request.instance_uuid])[request.instance_uuid]
        assert {"selections", "request_spec"} <= sa.inspect(row).unloaded
        assert (row.stage, row.fence) == (Stage.BUILD, FENCE)
        assert len(row.selections) == 1


def test_a_build_that_has_ended_cannot_be_locked(database: Database) -> None:
    """None says so."""
    request = a_build_request("a")
    insert(database, request)
    with database.writer() as session:
        row = builds.lock(session, request.instance_uuid)
        assert row is not None
        session.delete(row)
    with database.writer() as session:
        assert builds.lock(session, request.instance_uuid) is None
