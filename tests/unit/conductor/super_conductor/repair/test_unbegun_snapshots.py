"""Images of snapshots end, with data or without: also when no operation makes them."""

from datetime import UTC, datetime

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.db.instance_mappings import NewMapping
from conductor.super_conductor.repair.unbegun_snapshots import MIN_AGE, UnbegunSnapshots
from conductor.super_conductor.servers.snapshots import SnapshotsEndpoint
from objects.images.image_record import ImageRecord, NewSnapshot, StoredImage
from tests import builders
from tests.fixtures.control_plane import ControlPlane, RunningConductor, a_user

STORED = StoredImage(7, "md5", "sha512")
LONG_AGO = datetime(2020, 1, 31, 12, 0, 0, tzinfo=UTC)


class Snapshots:
    """Snapshots of one server, and the repair of a super conductor."""

    def __init__(self, plane: ControlPlane) -> None:
        plane.map_hosts()
        (self.cell,) = plane.cells.values()
        (self.uuid,) = plane.build()
        self.plane = plane
        self.bus = plane.bus_of(self.cell)

    def create(self, context: RequestContext | None = None) -> str:
        plane = self.plane
        endpoint = SnapshotsEndpoint(plane.database, plane.servers, plane.operations, plane.clock)
        asked = NewSnapshot("snap", {}, of_owner_max=5)
        return endpoint.create_snapshot(context or a_user(), self.uuid, asked).image.id

    def end(self, image_id: str, stored: StoredImage | None) -> bool:
        plane = self.plane
        endpoint = SnapshotsEndpoint(plane.database, plane.servers, plane.operations, plane.clock)
        return endpoint.end_snapshot(admin_context(), self.cell.uuid, self.uuid, image_id, stored)

    def repair(self) -> int:
        """Let a conductor look for them when they are old enough."""
        assert self.plane.links is not None
        self.plane.clock.advance(MIN_AGE.total_seconds() + 1)
        plane = self.plane
        return UnbegunSnapshots(plane.database, self.plane.links, plane.clock).end_all()

    def run(self, task_state: str | None) -> None:
        """Have an operation run on the server, or none."""
        known = self.cell.instances[self.uuid]
        self.cell.instances[self.uuid] = known.with_values(task_state=task_state)

    def statuses(self) -> list[str]:
        """Return the statuses of the images that the server's user sees."""
        with self.plane.database.reader() as session:
            return [each.image.status for each in images.list_records(session, a_user())]


@pytest.fixture
def snapshots(plane: ControlPlane) -> Snapshots:
    """Return snapshots of an active server."""
    return Snapshots(plane)


def test_an_image_whose_conductor_died_before_its_operation_began_ends(
    snapshots: Snapshots,
) -> None:
    """Killed before and after each effect of the request; the user does not ask again."""
    for moment in range(12):
        began = len(snapshots.cell.begun)
        snapshots.plane.killed_at(moment / 2, snapshots.create)
        has_begun = len(snapshots.cell.begun) > began
        snapshots.run("image_snapshot" if has_begun else None)
        assert not snapshots.repair() or not has_begun
        assert snapshots.statuses() == (["saving"] if has_begun else [])
        for image in [each["image"] for _, _, each in snapshots.cell.begun[began:]]:
            assert snapshots.end(image.id, STORED)
            snapshots.run(None)
            assert snapshots.repair() == 0
            assert snapshots.statuses() == ["active"]
            with snapshots.plane.database.writer() as session:
                images.delete_record(session, image.id)


def test_a_young_image_is_left_alone(snapshots: Snapshots) -> None:
    """Its request may be on its way to the cell."""
    snapshots.bus.fail("begin_operation", TimeoutError())
    with pytest.raises(exception.ArmillaryError):
        snapshots.create()
    assert snapshots.plane.links is not None
    repair = UnbegunSnapshots(
        snapshots.plane.database, snapshots.plane.links, snapshots.plane.clock
    )
    assert repair.end_all() == 0
    assert snapshots.statuses() == ["saving"]
    assert snapshots.repair() == 1
    assert snapshots.statuses() == []


def test_an_operation_whose_answer_was_lost_makes_its_image(snapshots: Snapshots) -> None:
    """The request is refused as unavailable, and a repeat of it gets that image."""
    context = a_user()
    lost = exception.RpcTimeout(method="begin_operation", topic="cell", timeout_seconds=5)
    snapshots.bus.fail("begin_operation", lost, when_done=True)
    with pytest.raises(exception.Unavailable):
        snapshots.create(context)
    ((_, _, arguments),) = snapshots.cell.begun
    assert snapshots.end(arguments["image"].id, STORED)
    assert snapshots.create(context) == arguments["image"].id
    assert snapshots.statuses() == ["active"]


def test_the_image_of_a_silent_cell_waits_for_it(snapshots: Snapshots) -> None:
    """Its host may be storing the data."""
    snapshots.create()
    snapshots.bus.is_down = True
    assert snapshots.repair() == 0
    assert snapshots.statuses() == ["saving"]
    snapshots.bus.is_down = False
    assert snapshots.repair() == 1
    assert snapshots.statuses() == []


def test_an_image_of_a_deleted_server_ends(snapshots: Snapshots) -> None:
    """Its request died; the delete has not known of it."""
    snapshots.create()
    snapshots.plane.delete(snapshots.uuid)
    snapshots.plane.settle()
    assert snapshots.repair() == 1
    assert snapshots.statuses() == []


def test_an_image_that_is_being_uploaded_is_not_of_a_server(snapshots: Snapshots) -> None:
    """A Glance tells of it, or of a snapshot of another cloud that uses it, too."""
    snapshots.plane.add_image(status="saving")
    of_another = {"instance_uuid": builders.a_uuid()}
    snapshots.plane.add_image("other", status="saving", properties=of_another)
    assert snapshots.repair() == 0
    assert snapshots.statuses() == ["saving", "saving"]


def test_its_data_is_deleted_with_an_image(snapshots: Snapshots) -> None:
    """By the image service: a host may have stored it, also that of a shelved server."""
    properties = {"image_type": "shelved", "instance_uuid": snapshots.uuid}
    image = builders.an_image("kept", properties=properties)
    plane = snapshots.plane
    endpoint = SnapshotsEndpoint(plane.database, plane.servers, plane.operations, plane.clock)
    assert endpoint.create_shelved_image(
        admin_context(), snapshots.cell.uuid, snapshots.uuid, image
    )
    made = snapshots.create()
    assert snapshots.repair() == 2
    left = [each.image.id for each in plane.database.read(images.list_pending_delete)]
    assert sorted(left) == sorted([image.id, made])


def test_a_conductor_looks_for_them_all_the_time(running: RunningConductor) -> None:
    """An old image of a server that is in no cell, and has no operation therefore."""
    uuid, context = builders.a_uuid(), a_user()
    instance = builders.an_instance(uuid=uuid, project_id=context.project_id)
    image = builders.an_image("old", status="saving", properties={"instance_uuid": uuid})
    with running.database.writer() as session:
        instance_mappings.add_mappings(session, [NewMapping.of(instance, "r-1", now=LONG_AGO)])
        record = ImageRecord(image, owner=context.project_id)
        images.create_record(session, record, now=LONG_AGO)
    running.run_task("end-unbegun-snapshots")
    with pytest.raises(exception.ImageNotFound):
        running.api.get_image(context, image.id)
