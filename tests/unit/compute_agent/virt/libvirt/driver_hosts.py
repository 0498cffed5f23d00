"""A host with libvirt's test driver, and what its guests have there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import host_conf, make_host, write_image

TEST = {"connection_uri": "test:///default", "virt_type": "test"}
FAILED = exception.OperationFailed
OTHERS = builders.a_uuid()
"""An image of another server, which is on the host."""
MARK = b"written by the guest"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[LibvirtDriver]:
    """Return a host on which nothing of ours runs; libvirt has a guest of its own there."""
    write_image(tmp_path / "images")
    driver = make_host(host_conf("host-1", tmp_path, **TEST))
    yield driver
    for guest in driver.list_guests():
        driver.destroy(guest.instance_uuid)
    driver.close()


@pytest.fixture
def sharing(tmp_path: Path) -> Iterator[tuple[LibvirtDriver, LibvirtDriver]]:
    """Return two hosts whose guests' files are in one directory, as on NFS."""
    write_image(tmp_path / "images")
    hosts = []
    for name in ("host-1", "host-2"):
        node = tmp_path / f"{name}.xml"
        node.write_text(f"<node><cpu><mhz>{len(name)}</mhz></cpu></node>")
        conf = host_conf(name, tmp_path, connection_uri=f"test://{node}", virt_type="test")
        hosts.append(make_host(conf))
    yield hosts[0], hosts[1]
    for each in hosts:
        each.close()


def powers(host: LibvirtDriver) -> dict[str, str]:
    return {guest.instance_uuid: guest.power_state for guest in host.list_guests()}


def changed(guest: Instance, **sizes: Any) -> Instance:
    """Return the instance with another flavor."""
    flavor = builders.a_flavor("other", **{"memory_mb": 64, **sizes})
    return builders.an_instance(guest.name, uuid=guest.uuid, image=guest.image, flavor=flavor)


def disk_sizes(tmp_path: Path, guest: Instance) -> dict[str, int]:
    directory = tmp_path / "instances" / guest.uuid
    return {path.name: path.stat().st_size for path in directory.glob("*.raw")}
