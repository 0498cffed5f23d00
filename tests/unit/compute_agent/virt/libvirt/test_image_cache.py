"""Images that a host of virtual machines fetches: in advance, and as long as they are needed."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary import exception
from armillary.images.glance import Glance
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.images.image_meta import ImageMeta
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import (
    BOOT_SECTOR,
    IMAGE_NAME,
    host_conf,
    make_host,
    need_program,
    write_image,
)

pytestmark = pytest.mark.libvirt

MakeHost = Callable[..., LibvirtDriver]
DATA = BOOT_SECTOR.ljust(1024**2, b"\0")
DAY = 24 * 3600


@pytest.fixture
def new_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeHost]:
    """Lend what makes a host with a Glance that has the same data for each image."""
    monkeypatch.setattr(Glance, "download", lambda *_: iter([DATA]))
    made: list[LibvirtDriver] = []

    def make(images_type: str = "raw", *, has_glance: bool = True) -> LibvirtDriver:
        conf = host_conf(
            "host-1", tmp_path, images_type=images_type,
            connection_uri="test:///default", virt_type="test",
        )  # fmt: skip
        if has_glance:
            use_glance(conf)
        made.append(make_host(conf))
        return made[-1]

    yield make
    for host in made:
        for guest in host.list_guests():
            host.destroy(guest.instance_uuid)
        host.close()


def use_glance(conf: cfg.ConfigOpts) -> None:
    conf.set_override("auth_type", "none", group="glance")
    conf.set_override("endpoint_override", "http://127.0.0.1:9", group="glance")


def an_image() -> ImageMeta:
    digest = hashlib.sha512(DATA).hexdigest()
    return builders.an_image(disk_format="raw", size_bytes=len(DATA), sha512=digest)


def cached(host: LibvirtDriver) -> object:
    return host.get_attributes()["cached_images"]


def make_old(tmp_path: Path) -> None:
    """Have all images used a while ago."""
    for mark in (tmp_path / "images").glob(".used-*"):
        then = mark.stat().st_mtime - 2 * DAY
        os.utime(mark, times=(then, then))


@pytest.mark.parametrize(("images_type", "is_needed"), [("raw", False), ("qcow2", True)])
def test_an_image_stays_while_disks_refer_to_it(
    new_host: MakeHost, tmp_path: Path, images_type: str, is_needed: bool
) -> None:
    """A raw disk is a copy, and needs it no more."""
    need_program("qemu-img")
    host = new_host(images_type)
    image = an_image()
    guest = builders.an_instance(image=image, flavor=builders.a_flavor(memory_mb=64))
    host.spawn(guest)
    make_old(tmp_path)
    host.expire_images()
    assert cached(host) == ([image.id] if is_needed else [])
    host.destroy(guest.uuid)
    make_old(tmp_path)
    host.expire_images()
    assert cached(host) == []


def test_an_image_can_be_fetched_before_a_guest_is_built(new_host: MakeHost) -> None:
    host, image = new_host(), an_image()
    host.cache_image(image)
    host.cache_image(image)
    assert cached(host) == [image.id]


def test_a_host_tells_as_many_images_as_it_may(new_host: MakeHost) -> None:
    host, images = new_host(), [an_image(), an_image()]
    for each in images:
        host.cache_image(each)
    host._conf.set_override("report_images_max", 0, group="image_cache")
    assert cached(host) == []


def test_without_a_glance_an_image_is_there_or_not(new_host: MakeHost, tmp_path: Path) -> None:
    """One that is nowhere is refused with where it was looked for."""
    host, here, missing = new_host(has_glance=False), an_image(), an_image()
    write_image(tmp_path / "images").rename(tmp_path / "images" / here.id)
    host.cache_image(here)
    assert cached(host) == [here.id]
    with pytest.raises(exception.Invalid, match=r"its data is not in .*/images"):
        host.cache_image(missing)


def test_a_file_that_an_image_names_is_not_fetched(new_host: MakeHost, tmp_path: Path) -> None:
    host = new_host()
    image = builders.an_image(disk_format="raw", properties={FILE_PROPERTY: IMAGE_NAME})
    with pytest.raises(exception.OperationUnsupported, match=f"{image.id} is not in .*/images"):
        host.cache_image(image)
    write_image(tmp_path / "images")
    host.cache_image(image)
    assert cached(host) == []
