"""Guests whose disks are images of Ceph, on two hosts that share nothing else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.disks.images import FILE_PROPERTY
from compute_agent.virt.libvirt.driver import LibvirtDriver
from objects.instance import Instance
from tests import builders
from tests.fixtures.libvirt.ceph_clusters import POOL, Cluster, running_cluster
from tests.fixtures.libvirt.libvirt_hosts import GREETING, a_guest, write_image
from tests.integration.libvirt.libvirt_daemons import NAMES
from tests.integration.libvirt.system_daemons import SystemDaemons
from tests.integration.libvirt.test_guests import (
    Watch,
    console,
    states,
    wait_for_boots,
    wait_until_it_goes_on,
)

pytestmark = [pytest.mark.libvirt, pytest.mark.long]


class Hosts:
    """Two hosts and their cluster."""

    def __init__(self, daemons: SystemDaemons, cluster: Cluster) -> None:
        self.cluster = cluster
        options: dict[str, Any] = {
            "images_type": "rbd", "images_rbd_pool": POOL, "report_disk": False,
            "images_rbd_ceph_conf": str(cluster.conf),
        }  # fmt: skip
        self.source, self.destination = (daemons.host(name, **options) for name in NAMES)

    def disks(self, guest: Instance) -> set[str]:
        front = f"{guest.uuid}_"
        return {name.removeprefix(front) for name in self.cluster.images()}


@pytest.fixture(scope="module")
def cluster(both_system_daemons: SystemDaemons) -> Iterator[Cluster]:
    with running_cluster(both_system_daemons.directory / "ceph") as running:
        for path in (running.conf, running.conf.with_name("keyring")):
            path.chmod(0o644)
        yield running


@pytest.fixture
def hosts(system_daemons: SystemDaemons, cluster: Cluster) -> Iterator[Hosts]:
    """Lend them; nothing is left in the pool afterwards."""
    write_image(system_daemons.directory / "images").chmod(0o644)
    yield (lent := Hosts(system_daemons, cluster))
    for host in (lent.source, lent.destination):
        for guest in host.list_guests():
            host.destroy(guest.instance_uuid)
    assert (cluster.images(), cluster.notes()) == (set(), set())


def booted(host: LibvirtDriver, **sizes: Any) -> Instance:
    guest = a_guest(flavor=builders.a_flavor(memory_mb=64, **sizes))
    host.spawn(guest)
    wait_for_boots(host, guest)
    return guest


def test_a_guest_has_all_its_disks_in_the_pool(hosts: Hosts, system_daemons: SystemDaemons) -> None:
    """It is resized, and a snapshot of it boots; its hosts report no disk of their own."""
    host = hosts.source
    guest = booted(host, ephemeral_gb=1, swap_mb=16)
    assert hosts.disks(guest) == {"disk", "ephemeral", "swap"}
    resources = host.get_resources()
    assert resources.disk_gb == 0
    assert resources.disk_available_least is not None
    flavor = builders.a_flavor("larger", memory_mb=64, root_gb=2, ephemeral_gb=1, swap_mb=32)
    larger = builders.an_instance(uuid=guest.uuid, image=guest.image, flavor=flavor)
    host.resize(larger, ANYWHERE, is_on=True)
    wait_for_boots(host, guest, 2)
    assert host._guests.find(guest.uuid).blockInfo("vda")[0] == 2 * 1024**3
    for name in ("running.qcow2", "off.qcow2"):
        image = builders.an_image(disk_format="qcow2", properties={FILE_PROPERTY: name})
        path = system_daemons.directory / "images" / name
        host.snapshot(guest.uuid, image, path)
        path.chmod(0o644)
        host.spawn(other := builders.an_instance(image=image, flavor=flavor))
        wait_for_boots(host, other)
        host.destroy(other.uuid)
        host.power_off(guest.uuid, grace_seconds=0)


def test_a_guest_is_rescued_from_the_pool(hosts: Hosts) -> None:
    """Its own disk is the second one meanwhile, and stays the same."""
    host = hosts.source
    guest = booted(host)
    assert guest.image is not None
    before = hosts.cluster.image_id(f"{guest.uuid}_disk")
    host.rescue(guest, ANYWHERE, guest.image, grace_seconds=0)
    wait_for_boots(host, guest, 2)
    assert hosts.disks(guest) == {"disk", "rescue"}
    assert host._guests.find(guest.uuid).blockInfo("vdb")[0] == 1024**3
    host.unrescue(guest, ANYWHERE)
    wait_for_boots(host, guest, 3)
    assert hosts.disks(guest) == {"disk"}
    assert hosts.cluster.image_id(f"{guest.uuid}_disk") == before


@pytest.mark.parametrize("is_running", [False, True], ids=["off", "running"])
def test_a_guest_moves_and_its_disks_stay_where_they_are(hosts: Hosts, is_running: bool) -> None:
    """The source lets go of them; what the guest wrote there on its console comes along."""
    source, destination = hosts.source, hosts.destination
    guest = booted(source, swap_mb=16)
    before = hosts.cluster.image_id(f"{guest.uuid}_disk")
    if is_running:
        there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
        source.live_migrate(guest, there, Watch())
        destination.complete_live(guest, ANYWHERE)
        wait_until_it_goes_on(destination, guest)
    else:
        payload = source.detach(guest.uuid, grace_seconds=0)
        for _ in range(2):
            destination.attach(guest, ANYWHERE, payload, is_on=True)
        wait_for_boots(destination, guest, 2)
    source.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([], [("running", False)])
    assert hosts.disks(guest) == {"disk", "swap"}
    assert hosts.cluster.image_id(f"{guest.uuid}_disk") == before
    assert console(destination, guest).startswith(GREETING)
    destination.reboot(guest, ANYWHERE, is_hard=True, grace_seconds=0)


def test_a_move_that_is_taken_back_leaves_the_disks_to_the_source(
    hosts: Hosts, tmp_path: Path
) -> None:
    source, destination = hosts.source, hosts.destination
    guest = booted(source)
    payload = source.detach(guest.uuid, grace_seconds=0)
    destination.attach(guest, ANYWHERE, payload, is_on=True)
    destination.destroy(guest.uuid)
    source.power_on(guest)
    wait_for_boots(source, guest, 2)
    assert (states(source), states(destination)) == ([("running", False)], [])
    there = destination.prepare_live(guest, ANYWHERE, source.describe_live(guest.uuid))
    assert there["is_shared"]
    destination.destroy(guest.uuid)
    assert hosts.disks(guest) == {"disk"}


def test_a_guest_of_a_host_that_was_given_up_writes_no_more(hosts: Hosts) -> None:
    """It runs on, cut off, when another host has its disk."""
    source, destination = hosts.source, hosts.destination
    guest = booted(source)
    (before,) = hosts.cluster.clients(f"{guest.uuid}_disk")
    destination.recover(guest, ANYWHERE, former_host=source.host)
    wait_for_boots(destination, guest)
    assert before not in hosts.cluster.clients(f"{guest.uuid}_disk")
    assert before in hosts.cluster.run("ceph", "osd", "blocklist", "ls")
    source.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([], [("running", False)])


def test_a_guest_of_a_dead_host_boots_from_its_disk_in_the_pool(hosts: Hosts) -> None:
    source, destination = hosts.source, hosts.destination
    guest = booted(source, swap_mb=16)
    before = hosts.cluster.image_id(f"{guest.uuid}_disk")
    source._guests.find(guest.uuid).destroy()  # as when its machine ends
    destination.recover(guest, ANYWHERE, former_host=source.host)
    wait_for_boots(destination, guest)
    source.destroy(guest.uuid)
    assert (states(source), states(destination)) == ([], [("running", False)])
    assert hosts.disks(guest) == {"disk", "swap"}
    assert hosts.cluster.image_id(f"{guest.uuid}_disk") == before
