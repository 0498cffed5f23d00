"""Where the data of snapshots goes: into the service's directory, or over HTTP to the service."""

import dataclasses
import hashlib
from pathlib import Path
from typing import cast

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.conf import base, image, register
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.snapshot_store import SnapshotStore, snapshot_store
from objects.images.image_record import INSTANCE_UUID, STORE_LOCK
from objects.images.image_ticket import ImageTicket
from tests import builders

DATA = b"a disk"
SERVER = builders.a_uuid()
SNAPSHOT = builders.an_image(properties={INSTANCE_UUID: SERVER})


@dataclasses.dataclass
class Service:
    """The image service, which notes what a host asks for and sends."""

    has_way: bool = True
    error: Exception | None = None
    seen: list[tuple[str, ...]] = dataclasses.field(default_factory=list)

    def get_ticket(self, image_id: str, access: str, instance_uuid: str) -> ImageTicket | None:
        self.seen.append((image_id, access, instance_uuid))
        self._fail()
        return ImageTicket(image_id, "http://127.0.0.1:9", "token") if self.has_way else None

    def upload(self, image_id: str, path: Path, sha512: str, instance_uuid: str) -> None:
        self._fail()
        self.seen.append((image_id, path.read_text(), sha512, instance_uuid))

    def _fail(self) -> None:
        if self.error is not None:
            raise self.error


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "images"


@pytest.fixture
def store(service: Service, directory: Path) -> SnapshotStore:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    register(conf, base, image)
    conf.set_override("store_path", str(directory), group="image")
    return snapshot_store(conf, cast("ImageService", service))


def test_a_host_on_another_machine_sends_the_data(
    store: SnapshotStore, service: Service, directory: Path
) -> None:
    """For the server that the image is of; nothing of it stays there."""
    store.check(SNAPSHOT)
    with store.draft() as draft:
        draft.write_bytes(DATA)
        stored = store.publish(draft, SNAPSHOT, "p1")
    digest = hashlib.sha512(DATA).hexdigest()
    assert (stored.size_bytes, stored.sha512) == (len(DATA), digest)
    assert service.seen == [
        (SNAPSHOT.id, "write", SERVER),
        (SNAPSHOT.id, DATA.decode(), digest, SERVER),
    ]
    assert list(directory.iterdir()) == []


def test_a_host_without_a_way_says_so_before_it_copies_a_disk(
    store: SnapshotStore, service: Service
) -> None:
    service.has_way = False
    with pytest.raises(OSError, match=r"\[image\] endpoint of the conductors is not set"):
        store.check(SNAPSHOT)
    service.error = exception.Forbidden(reason="host h1 has nothing to write")
    with pytest.raises(OSError, match="nothing to write"):
        store.check(SNAPSHOT)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (exception.ImageNotFound(image=SNAPSHOT.id), "the image was deleted"),
        (exception.Unavailable(reason="the image service is down"), "is down"),
    ],
    ids=["deleted", "away"],
)
def test_data_that_cannot_be_sent_fails_the_snapshot(
    store: SnapshotStore, service: Service, tmp_path: Path, error: Exception, reason: str
) -> None:
    draft = tmp_path / "draft"
    draft.write_bytes(DATA)
    service.error = error
    with pytest.raises(OSError, match=reason):
        store.publish(draft, SNAPSHOT, "p1")


def test_a_host_that_shares_the_directory_stores_the_data_there(
    store: SnapshotStore, service: Service, directory: Path
) -> None:
    """It knows the directory by the service's file."""
    directory.mkdir()
    (directory / STORE_LOCK).touch()
    shared = snapshot_store(store._conf, cast("ImageService", service))
    shared.check(SNAPSHOT)
    with shared.draft() as draft:
        draft.write_bytes(DATA)
        shared.publish(draft, SNAPSHOT, "p1")
    assert (directory / SNAPSHOT.id).read_bytes() == DATA
    assert service.seen == []
