"""Records of snapshots: made with the request, active with their data, gone without."""

from __future__ import annotations

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.super_conductor.db import images
from conductor.super_conductor.servers.snapshots import SnapshotsEndpoint
from objects.images.image_record import NewSnapshot, StoredImage
from tests import builders
from tests.fixtures.control_plane import ControlPlane, a_user

STORED = StoredImage(7, "md5", "sha512")


class Snapshots:
    """Snapshots of one server of project p1, whose image has a public and a private property."""

    def __init__(self, plane: ControlPlane) -> None:
        plane.map_hosts()
        (self.cell,) = plane.cells.values()
        (self.uuid,) = plane.build()
        self.plane = plane
        properties = {"process_command": "run", "process_environment": "{}", "os_type": "linux"}
        image = builders.an_image(properties={**properties, "libvirt_disk_file": "disk.raw"})
        self.cell.instances[self.uuid] = self.cell.instances[self.uuid].with_values(image=image)
        self.endpoint = SnapshotsEndpoint(
            plane.database, plane.servers, plane.operations, plane.clock
        )

    def create(self, context: RequestContext | None = None, **properties: str) -> str:
        asked = NewSnapshot("snap", properties, of_owner_max=2)
        return self.endpoint.create_snapshot(context or a_user(), self.uuid, asked).image.id

    def end(self, image_id: str, stored: StoredImage | None, cell_uuid: str | None = None) -> bool:
        here = cell_uuid or next(iter(self.plane.cells))
        context = admin_context()
        return self.endpoint.end_snapshot(context, here, self.uuid, image_id, stored)

    def status(self, image_id: str) -> str | None:
        with self.plane.database.reader() as session:
            found = images.find_record(session, image_id)
        return None if found is None else found.image.status


@pytest.fixture
def snapshots(plane: ControlPlane) -> Snapshots:
    """Return snapshots of an active server."""
    return Snapshots(plane)


def test_a_snapshot_is_saving_until_its_data_is_stored(snapshots: Snapshots) -> None:
    """Told twice; only by the server's own cell."""
    image_id = snapshots.create(colour="blue")
    ((uuid, operation, arguments),) = snapshots.cell.begun
    assert (uuid, operation, arguments["image"].id) == (snapshots.uuid, "snapshot", image_id)
    assert snapshots.status(image_id) == "saving"
    assert not snapshots.end(image_id, STORED, cell_uuid=builders.a_uuid())
    assert snapshots.status(image_id) == "saving"
    for _ in range(2):
        assert snapshots.end(image_id, STORED)
    with snapshots.plane.database.reader() as session:
        record = images.find_record(session, image_id)
    assert record is not None
    assert (record.owner, record.visibility, record.sha512) == ("p1", "private", "sha512")
    assert (record.image.status, record.image.size_bytes) == ("active", 7)
    properties = record.image.properties
    assert (properties["colour"], properties["os_type"]) == ("blue", "linux")
    assert (properties["image_type"], properties["instance_uuid"]) == ("snapshot", snapshots.uuid)
    assert {"process_environment", "libvirt_disk_file"}.isdisjoint(properties)


def test_a_snapshot_without_data_is_deleted(snapshots: Snapshots) -> None:
    """As is one that the cell refused; too many are refused before that."""
    image_id = snapshots.create()
    for _ in range(2):
        assert not snapshots.end(image_id, None)
    assert snapshots.status(image_id) is None
    kept = [snapshots.create(image_type="backup") for _ in range(2)]
    assert [operation for _, operation, _ in snapshots.cell.begun[1:]] == ["backup", "backup"]
    with pytest.raises(exception.QuotaExceeded):
        snapshots.create()
    snapshots.end(kept[0], None)
    with pytest.raises(exception.InstanceNotFound):
        snapshots.create(a_user("p2"))
    snapshots.cell.refusal = exception.InstanceInvalidState(
        instance_uuid=snapshots.uuid, operation="snapshot", reason="it is pausing"
    )
    with pytest.raises(exception.InstanceInvalidState):
        snapshots.create()
    with snapshots.plane.database.reader() as session:
        assert len(images.list_records(session, admin_context())) == 1


def test_the_image_of_a_shelved_server_is_its_projects_until_it_is_unshelved(
    snapshots: Snapshots,
) -> None:
    """Created and ended twice, by the server's own cell alone; the quota does not count it."""
    properties = {"image_type": "shelved", "instance_uuid": snapshots.uuid}
    image = builders.an_image("web-shelved", properties=properties)
    here, context = next(iter(snapshots.plane.cells)), admin_context()
    create = snapshots.endpoint.create_shelved_image
    assert not create(context, builders.a_uuid(), snapshots.uuid, image)
    other = builders.an_image("other", properties={**properties, "image_type": "snapshot"})
    assert not create(context, here, snapshots.uuid, other)
    assert snapshots.status(image.id) is None
    for _ in range(2):
        assert create(context, here, snapshots.uuid, image)
    assert snapshots.status(image.id) == "saving"
    for _ in range(2):
        assert snapshots.end(image.id, STORED)
    with snapshots.plane.database.reader() as session:
        record = images.find_record(session, image.id)
    assert record is not None
    assert (record.owner, record.visibility, record.image.status) == ("p1", "private", "active")
    for _ in range(2):
        assert not snapshots.end(image.id, None)
    assert snapshots.status(image.id) == "pending_delete"


def test_a_cell_makes_no_image_of_a_file_of_hosts(snapshots: Snapshots) -> None:
    """Which the host of another cell would give to a guest; nor one with secrets."""
    properties = {
        "image_type": "shelved", "instance_uuid": snapshots.uuid, "process_command": "sleep 1",
        "libvirt_disk_file": "of-another.qcow2", "process_environment": "{}",
    }  # fmt: skip
    image = builders.an_image("web-shelved", properties=properties)
    here = next(iter(snapshots.plane.cells))
    assert snapshots.endpoint.create_shelved_image(admin_context(), here, snapshots.uuid, image)
    with snapshots.plane.database.reader() as session:
        record = images.find_record(session, image.id)
    assert record is not None
    assert record.image.properties.keys() == {"image_type", "instance_uuid", "process_command"}
