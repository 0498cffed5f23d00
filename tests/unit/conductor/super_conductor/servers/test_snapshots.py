"""Records of snapshots: made with the request, active with their data, gone without."""

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from conductor.common.clock import moment
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.servers.snapshots import SnapshotsEndpoint
from objects.images.image_record import PRIVATE, ImageRecord, NewSnapshot, StoredImage
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

    def add_private_image(self, owner: str, properties: dict[str, str]) -> None:
        record = ImageRecord(builders.an_image(properties=properties), owner, PRIVATE)
        with self.plane.database.writer() as session:
            images.create_record(session, record, now=moment(self.plane.clock()))

    def shelve(self, properties: dict[str, str]) -> dict[str, str]:
        """Have the cell store an image with these properties; return those of the record."""
        image, here = builders.an_image("kept", properties=properties), self.cell.uuid
        context = admin_context()
        assert self.endpoint.create_shelved_image(context, here, self.uuid, image)
        return self.properties(image.id)

    def properties(self, image_id: str) -> dict[str, str]:
        found = self.plane.database.read(images.find_record, image_id)
        assert found is not None
        return found.image.properties

    def status(self, image_id: str) -> str | None:
        found = self.plane.database.read(images.find_record, image_id)
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
    record = snapshots.plane.database.read(images.find_record, image_id)
    assert record is not None
    assert (record.owner, record.visibility, record.sha512) == ("p1", "private", "sha512")
    assert (record.image.status, record.image.size_bytes) == ("active", 7)
    properties = record.image.properties
    assert (properties["colour"], properties["os_type"]) == ("blue", "linux")
    assert (properties["image_type"], properties["instance_uuid"]) == ("snapshot", snapshots.uuid)
    assert {"process_environment", "libvirt_disk_file"}.isdisjoint(properties)


def test_a_request_makes_one_snapshot(snapshots: Snapshots) -> None:
    """It is handled again, because its conductor died: the image waits for its data, or has it."""
    context = a_user()
    image_id = snapshots.create(context)
    assert snapshots.create(context) == image_id
    assert {arguments["image"].id for _, _, arguments in snapshots.cell.begun} == {image_id}
    assert snapshots.end(image_id, STORED)
    begun = len(snapshots.cell.begun)
    assert snapshots.create(context) == image_id
    assert len(snapshots.cell.begun) == begun
    assert snapshots.status(image_id) == "active"


def test_a_snapshot_without_data_is_deleted(snapshots: Snapshots) -> None:
    """As is one that the cell refused; too many are refused before that."""
    image_id = snapshots.create()
    for _ in range(2):
        assert not snapshots.end(image_id, None)
    assert snapshots.status(image_id) == "pending_delete"
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
    record = snapshots.plane.database.read(images.find_record, image.id)
    assert record is not None
    assert (record.owner, record.visibility, record.image.status) == ("p1", "private", "active")
    for _ in range(2):
        assert not snapshots.end(image.id, None)
    assert snapshots.status(image.id) == "pending_delete"


def test_no_image_is_made_of_a_server_that_is_being_deleted(snapshots: Snapshots) -> None:
    """The cell may ask for it late; its delete has been told already which images are left."""
    properties = {"image_type": "shelved", "instance_uuid": snapshots.uuid}
    image = builders.an_image("web-shelved", properties=properties)
    snapshots.plane.delete(snapshots.uuid)
    here = next(iter(snapshots.plane.cells))
    create = snapshots.endpoint.create_shelved_image
    assert not create(admin_context(), here, snapshots.uuid, image)
    assert snapshots.status(image.id) is None


def test_a_cell_makes_no_image_of_a_file_of_hosts(snapshots: Snapshots) -> None:
    """Which the host of another cell would give to a guest; nor one with secrets."""
    properties = {
        "image_type": "shelved", "instance_uuid": snapshots.uuid, "process_command": "sleep 1",
        "libvirt_disk_file": "of-another.qcow2", "process_environment": "{}",
    }  # fmt: skip
    snapshots.plane.add_image(properties={"process_command": "sleep 1"})
    kept = snapshots.shelve(properties)
    assert kept.keys() == {"image_type", "instance_uuid", "process_command"}


PROGRAM = {"process_command": "serve", "process_restart": "always"}


def test_a_cell_names_no_program_that_others_run(snapshots: Snapshots) -> None:
    """Neither in the image of a shelved server, nor in that of a snapshot; other parts stay."""
    forged = {**PROGRAM, "process_command": "steal", "os_type": "linux"}
    snapshots.plane.add_image(properties=PROGRAM)
    snapshots.add_private_image("p2", forged)
    for properties, expected in ((PROGRAM, PROGRAM), (forged, {"os_type": "linux"})):
        of_cell = builders.an_image(properties=properties)
        known = snapshots.cell.instances[snapshots.uuid]
        snapshots.cell.instances[snapshots.uuid] = known.with_values(image=of_cell)
        made = snapshots.create()
        found = snapshots.properties(made)
        assert {name: found[name] for name in properties if name in found} == expected
        snapshots.end(made, None)
        found = snapshots.shelve({"image_type": "shelved", "instance_uuid": snapshots.uuid}
                                 | properties)  # fmt: skip
        assert {name: found[name] for name in properties if name in found} == expected


def test_a_server_keeps_the_program_that_it_was_accepted_with(snapshots: Snapshots) -> None:
    """Also when its image is deleted."""
    image = snapshots.plane.add_image(properties=PROGRAM)
    (uuid,) = snapshots.plane.build(image=image.id)
    snapshots.uuid = uuid
    with snapshots.plane.database.writer() as session:
        images.delete_record(session, image.id)
    assert PROGRAM.items() <= snapshots.properties(snapshots.create()).items()
