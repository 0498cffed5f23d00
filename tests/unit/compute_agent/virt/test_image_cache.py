"""Images on a host, of a Glance or our own service: kept while guests need them, in a bound."""

import dataclasses
import hashlib
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import cast

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.conf import base, image, register
from armillary.images.glance import Glance
from compute_agent.virt.image_cache import ImageCache
from compute_agent.virt.image_service import ImageService
from objects.images.image_meta import ImageMeta
from objects.images.image_record import DRAFT_PREFIX, STORE_LOCK
from objects.images.image_ticket import ImageTicket
from tests import builders
from tests.fixtures.cell import Clock

MIB = 1024**2
DAY = 24 * 3600


@dataclasses.dataclass
class Store:
    """A Glance, and hosts with a directory of images."""

    conf: cfg.ConfigOpts
    directory: Path
    clock: Clock
    data: dict[str, bytes] = dataclasses.field(default_factory=dict)
    downloads: list[str] = dataclasses.field(default_factory=list)
    bases: set[Path] = dataclasses.field(default_factory=set)

    def host(self, name: str = "h1", *, knows_bases: bool = True) -> ImageCache:
        """Return the cache of a host as its agent has it after a start."""
        find_bases = (lambda: self.bases) if knows_bases else tuple[Path]
        return ImageCache(self.conf, self.directory, name, find_bases, self.clock)

    def image(self, mib: int = 1) -> ImageMeta:
        made = builders.an_image(size_bytes=mib * MIB)
        self.data[made.id] = os.urandom(mib * MIB)
        return made.with_values(sha512=hashlib.sha512(self.data[made.id]).hexdigest())

    def download(self, image_id: str) -> Iterator[bytes]:
        self.downloads.append(image_id)
        yield self.data[image_id]

    def path(self, made: ImageMeta) -> Path:
        return self.directory / made.id

    def have(self, *images: ImageMeta) -> list[bool]:
        return [self.path(each).is_file() for each in images]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    conf = cfg.ConfigOpts()
    conf([], default_config_files=[], default_config_dirs=[])
    register(conf, base, image)
    conf.set_override("auth_type", "none", group="glance")
    conf.set_override("endpoint_override", "http://127.0.0.1:9", group="glance")
    made = Store(conf, tmp_path / "images", Clock())
    monkeypatch.setattr(Glance, "download", lambda _self, image_id, _start: made.download(image_id))
    return made


def test_an_image_is_fetched_once_and_kept_while_it_is_used(store: Store) -> None:
    """A restarted agent knows when it was used last."""
    made, host = store.image(), store.host()
    host.fetch(made)
    store.clock.advance(DAY - 1)
    host.expire()
    store.host().fetch(made)
    store.clock.advance(DAY - 1)
    store.host().expire()
    assert (store.path(made).read_bytes(), store.downloads) == (store.data[made.id], [made.id])
    store.clock.advance(1)
    store.host().expire()
    assert list(store.directory.iterdir()) == [store.directory / ".cache-lock"]


def test_an_old_image_that_a_disk_refers_to_stays(store: Store) -> None:
    """Its age counts from when no disk does any more."""
    made, host = store.image(), store.host()
    host.fetch(made)
    store.bases.add(store.path(made))
    store.clock.advance(2 * DAY)
    host.expire()
    store.bases.clear()
    host.expire()
    assert store.have(made) == [True]
    store.clock.advance(DAY)
    host.expire()
    assert store.have(made) == [False]


def test_an_image_that_a_guest_is_built_from_stays(store: Store) -> None:
    """Until its disk refers to it."""
    made, host = store.image(), store.host()
    store.conf.set_override("size_mb_max", 1, group="image_cache")
    with host.held(made, builders.a_uuid()):
        store.clock.advance(2 * DAY)
        host.expire()
        with pytest.raises(exception.ImageCacheFull, match="1 MiB more than"):
            host.fetch(store.image())
        assert store.have(made) == [True]
    host.expire()
    assert store.have(made) == [False]


def test_nothing_is_removed_when_it_cannot_be_seen_what_is_used(store: Store) -> None:
    def unreadable() -> Collection[Path]:
        raise PermissionError("a disk")

    made = store.image()
    host = ImageCache(store.conf, store.directory, "h1", unreadable, store.clock)
    host.fetch(made)
    store.clock.advance(2 * DAY)
    with pytest.raises(PermissionError):
        host.expire()
    assert store.have(made) == [True]


def test_images_make_room_for_others(store: Store) -> None:
    """Those used least recently, unless a disk refers to them; then there is no room."""
    store.conf.set_override("size_mb_max", 4, group="image_cache")
    first, second, third, large = (store.image(mib) for mib in (1, 1, 1, 3))
    host = store.host()
    for each in (first, second, third, first):
        store.clock.advance(1)
        host.fetch(each)
    store.bases.add(store.path(third))
    host.fetch(large)
    assert store.have(first, second, third, large) == [False, False, True, True]
    store.bases.add(store.path(large))
    with pytest.raises(exception.ImageCacheFull):
        host.fetch(first)
    assert store.have(first, second, third, large) == [False, False, True, True]


def test_a_lower_bound_counts_for_what_is_there(store: Store) -> None:
    images, host = [store.image(), store.image()], store.host()
    for each in images:
        store.clock.advance(1)
        host.fetch(each)
    store.conf.set_override("size_mb_max", 1, group="image_cache")
    host.expire()
    assert store.have(*images) == [False, True]


def test_what_another_host_uses_stays(store: Store) -> None:
    """Whatever this host sees of the other one's guests; the last one to use it removes it."""
    made, one, other = store.image(), store.host("h1"), store.host("h2", knows_bases=False)
    one.fetch(made)
    store.bases.add(store.path(made))
    other.fetch(made)
    store.clock.advance(2 * DAY)
    other.expire()
    assert store.have(made) == [True]
    store.bases.clear()
    one.expire()
    assert store.have(made) == [False]


def test_files_of_others_stay(store: Store) -> None:
    """Such as those of an image service that has the same directory."""
    made, host = store.image(), store.host()
    store.directory.mkdir()
    store.path(made).write_bytes(b"x")
    host.fetch(made)
    store.conf.set_override("size_mb_max", 1, group="image_cache")
    store.clock.advance(2 * DAY)
    host.expire()
    host.drop(made)
    assert (store.path(made).read_bytes(), store.downloads) == (b"x", [])


def test_removal_can_be_turned_off(store: Store) -> None:
    store.conf.set_override("remove_unused_base_images", False, group="image_cache")
    made, host = store.image(), store.host()
    host.fetch(made)
    store.clock.advance(99 * DAY)
    host.expire()
    assert store.have(made) == [True]


def test_an_image_that_is_not_needed_again_goes_immediately(store: Store) -> None:
    made, host = store.image(), store.host()
    host.fetch(made)
    host.drop(made)
    assert store.have(made) == [False]


def test_other_data_than_the_record_says_is_refused(store: Store) -> None:
    """And does not stay."""
    made, host = store.image(), store.host()
    store.data[made.id] = bytes(MIB)
    with pytest.raises(exception.Invalid, match="another SHA-512 digest"):
        host.fetch(made)
    assert (store.have(made), host.list_ids(9)) == ([False], [])


def test_a_host_tells_the_images_that_it_used_last(store: Store) -> None:
    """Those of others, too; sorted, so that the same ones are the same report."""
    images, host = [store.image() for _ in range(3)], store.host()
    for each in images:
        store.clock.advance(1)
        host.fetch(each)
    store.clock.advance(1)
    host.fetch(images[0])
    assert host.list_ids(9) == sorted(each.id for each in images)
    assert host.list_ids(2) == sorted([images[0].id, images[2].id])
    assert host.list_ids(0) == []


def test_images_make_room_for_others_in_a_full_file_system(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a bound, too; what a disk refers to stays, and what is missing is said."""
    used, free = store.image(), store.image()
    host = store.host()
    for each in (used, free):
        store.clock.advance(1)
        host.fetch(each)
    store.bases.add(store.path(used))

    def usage(_path: Path) -> object:
        there = sum(path.stat().st_size for path in store.directory.iterdir())
        return shutil._ntuple_diskusage(0, 0, 3 * MIB + MIB // 2 - there)

    monkeypatch.setattr(shutil, "disk_usage", usage)
    host.fetch(later := store.image(2))
    assert store.have(used, free, later) == [True, False, True]
    store.bases.add(store.path(later))
    with pytest.raises(exception.Unavailable, match=r"has 2 MiB, and .*/images has 0 MiB free"):
        host.fetch(store.image(2))
    assert store.have(used, later) == [True, True]


def test_a_draft_that_was_left_goes_when_it_is_old(store: Store) -> None:
    """Those of an image service in the same directory are not named after an image."""
    host = store.host()
    store.directory.mkdir()
    names = [f"{DRAFT_PREFIX}{builders.a_uuid()}", f"{DRAFT_PREFIX}0123456789abcdef"]
    for name in names:
        (store.directory / name).touch()
        os.utime(store.directory / name, times=(store.clock(), store.clock()))
    host.expire()
    store.clock.advance(DAY + 1)
    host.expire()
    assert sorted(store.directory.glob(f"{DRAFT_PREFIX}*")) == [store.directory / names[1]]


# Our own image service ----------------------------------------------------------------------------


class Service:
    """Our own image service, with tickets for all that it has."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.asked: list[str | None] = []

    def get_ticket(
        self, image_id: str, access: str, instance_uuid: str | None
    ) -> ImageTicket | None:
        self.asked.append(instance_uuid)
        data = self.store.data.get(image_id)
        if data is None:
            return None
        sha512 = hashlib.sha512(data).hexdigest()
        return ImageTicket(image_id, "http://127.0.0.1:9", "token", len(data), sha512)

    def is_needed(self, _instance_uuid: str) -> bool:
        return True

    def download(self, ticket: ImageTicket, instance_uuid: str | None) -> Iterator[bytes]:
        return self.store.download(ticket.image_id)


@pytest.fixture
def service(store: Store) -> Service:
    store.conf.clear_override("auth_type", group="glance")
    return Service(store)


def own_host(service: Service) -> ImageCache:
    store = service.store
    return ImageCache(
        store.conf, store.directory, "h1", lambda: store.bases, store.clock,
        service=cast("ImageService", service),
    )  # fmt: skip


def test_an_image_of_our_own_service_is_fetched_once(store: Store, service: Service) -> None:
    """For the instance that needs it; it ages as those of a Glance do."""
    made, host, uuid = store.image(), own_host(service), builders.a_uuid()
    with host.held(made, uuid):
        assert store.have(made) == [True]
    assert host.fetch(made)
    assert (service.asked, store.downloads) == ([uuid], [made.id])
    store.clock.advance(DAY)
    host.expire()
    assert store.have(made) == [False]


def test_other_data_than_the_service_says_is_refused(store: Store, service: Service) -> None:
    """Also where the host knows no digest, as of a shelved server; nothing half-written stays."""
    made, host = store.image(), own_host(service)
    unknown = made.with_values(sha512=None, size_bytes=0)
    store.download = lambda image_id: iter([bytes(MIB)])  # type: ignore[method-assign]
    for each in (made, unknown):
        with pytest.raises(exception.Invalid, match="in the image service has another SHA-512"):
            host.fetch(each)
    assert (store.have(made), host.list_ids(9)) == ([False], [])
    drafts = [path.stat().st_size for path in store.directory.glob(f"{DRAFT_PREFIX}*")]
    assert set(drafts) <= {0}


def test_what_differs_from_the_servers_own_record_is_refused(
    store: Store, service: Service
) -> None:
    made = store.image().with_values(sha512="0" * 128)
    with pytest.raises(exception.Invalid, match="another SHA-512"):
        own_host(service).fetch(made)


def test_a_bound_counts_for_our_own_service(store: Store, service: Service) -> None:
    """By the size that the service says."""
    store.conf.set_override("size_mb_max", 2, group="image_cache")
    made = store.image(3).with_values(size_bytes=0)
    with pytest.raises(exception.ImageCacheFull):
        own_host(service).fetch(made)
    assert store.downloads == []


def test_an_image_without_a_ticket_is_not_fetched(store: Store, service: Service) -> None:
    """The host has to have it otherwise, or the build says that it does not."""
    assert not own_host(service).fetch(builders.an_image())
    assert store.downloads == []


def test_nothing_is_fetched_into_the_services_own_directory(store: Store, service: Service) -> None:
    """A host that shares it finds the image there, and removes nothing."""
    made, other, host = store.image(), store.image(), own_host(service)
    store.directory.mkdir()
    (store.directory / STORE_LOCK).touch()
    store.path(made).write_bytes(store.data[made.id])
    assert (host.fetch(made), host.fetch(other)) == (True, False)
    store.conf.set_override("size_mb_max", 1, group="image_cache")
    store.clock.advance(2 * DAY)
    host.expire()
    host.drop(made)
    assert (store.have(made), service.asked) == ([True], [])
    assert {path.name for path in store.directory.iterdir()} == {STORE_LOCK, made.id}
