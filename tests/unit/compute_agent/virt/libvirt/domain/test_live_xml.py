"""A running guest's definition, as its destination is to have it."""

import dataclasses
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from compute_agent.host.instance_topology import ANYWHERE
from compute_agent.virt.libvirt.domain import live_xml
from compute_agent.virt.libvirt.domain.pins import Pins
from compute_agent.virt.libvirt.moves.payloads import LiveDestination
from compute_agent.virt.libvirt.record import NAMESPACE

RUNNING = f"""
<domain type='kvm'>
  <metadata>
    <a:instance xmlns:a='{NAMESPACE}'><a:name>web</a:name><a:place>{{}}</a:place></a:instance>
  </metadata>
  <vcpu placement='static' cpuset='2-3'>2</vcpu>
  <cputune><vcpupin vcpu='0' cpuset='2'/></cputune>
  <os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>
  <cpu mode='custom' match='exact'>
    <model>EPYC</model><topology cores='2'/><feature name='vme'/><numa><cell id='0'/></numa>
  </cpu>
  <devices>
    <disk><source file='/a/u/disk.qcow2' index='1'/>
      <backingStore type='file'><source file='/images/base'/></backingStore></disk>
    <serial type='pty'><log file='/a/u/console.log'/><address port='1'/></serial>
    <console type='pty'><log file='/a/u/console.log'/></console>
  </devices>
</domain>
"""


def a_destination(*, is_shared: bool = False) -> LiveDestination:
    pins = Pins(shared=frozenset({0}))
    return LiveDestination("b", "192.0.2.8", "/b/u", is_shared, ANYWHERE, pins)


def one(parent: Element, path: str) -> Element:
    found = parent.find(path)
    assert found is not None
    return found


def test_files_are_the_destinations() -> None:
    """What the guest sees of its devices stays as it is."""
    domain = ElementTree.fromstring(live_xml.for_destination(RUNNING, a_destination(), {}))
    files = [e.get("file") for e in domain.iterfind("devices/*/*[@file]")]
    assert files == ["/b/u/disk.qcow2", "/b/u/console.log", "/b/u/console.log"]
    assert one(domain, "devices/serial/address").attrib == {"port": "1"}


def test_a_disk_is_nothing_without_what_it_lies_over() -> None:
    """Devices are disks, too; the copy that a snapshot makes is not."""
    device = "<disk><source dev='/dev/a/u'/><mirror><source file='/x'/></mirror></disk>"
    text = RUNNING.replace("<serial", f"{device}<serial", 1)
    found = [str(path) for path in live_xml.disk_paths(text)]
    assert found == ["/a/u/disk.qcow2", "/images/base", "/dev/a/u"]


def test_disks_have_the_paths_that_the_destination_names() -> None:
    """Also where they are not files, and with its own cache mode."""
    text = """<domain><vcpu>1</vcpu><os><nvram>/a/u/nvram.raw</nvram></os><devices>
        <disk type='block'><driver cache='none'/><source dev='/dev/a/u_disk'/></disk>
        <disk type='file'><driver cache='none'/><source file='/a/u/swap.raw'/></disk>
        <disk type='network'><source protocol='rbd' name='pool/u_drive'/></disk>
        </devices></domain>"""
    destination = dataclasses.replace(
        a_destination(), disks={"disk.raw": "/dev/b/u_disk", "swap.raw": "/c/u/swap.raw"}
    )
    names = {"/dev/a/u_disk": "disk.raw", "/a/u/swap.raw": "swap.raw", "pool/u_drive": "drive.raw"}
    domain = ElementTree.fromstring(live_xml.for_destination(text, destination, names))
    assert [source.attrib for source in domain.iterfind("devices/disk/source")] == [
        {"dev": "/dev/b/u_disk"}, {"file": "/c/u/swap.raw"},
        {"protocol": "rbd", "name": "pool/u_drive"},
    ]  # fmt: skip
    caches = [driver.get("cache") for driver in domain.iterfind("devices/disk/driver")]
    assert caches == ["none", None]
    assert domain.findtext("os/nvram") == "/b/u/nvram.raw"


@pytest.mark.parametrize(("is_shared", "count"), [(True, 1), (False, 0)], ids=["shared", "copied"])
def test_a_copy_stands_on_no_other_file(is_shared: bool, count: int) -> None:
    text = live_xml.for_destination(RUNNING, a_destination(is_shared=is_shared), {})
    assert len(ElementTree.fromstring(text).findall("devices/disk/backingStore")) == count


def test_pins_and_place_are_the_destinations() -> None:
    domain = ElementTree.fromstring(live_xml.for_destination(RUNNING, a_destination(), {}))
    assert one(domain, "vcpu").attrib == {"cpuset": "0"}
    assert domain.find("cputune") is None
    record = one(domain, f"metadata/{{{NAMESPACE}}}instance")
    assert [part.tag for part in record] == [f"{{{NAMESPACE}}}name"]


def test_a_guests_cpu_is_compared_without_its_shape() -> None:
    """Which cells and cores a guest has says nothing of the host."""
    cpu = ElementTree.fromstring(live_xml.guest_cpu(RUNNING) or "")
    assert [child.tag for child in cpu] == ["model", "feature"]
    assert live_xml.machine(RUNNING) == ("x86_64", "pc-q35-7.2")
    assert not live_xml.has_host_cpu(RUNNING)


def test_a_guest_may_have_its_hosts_cpu() -> None:
    text = "<domain><cpu mode='host-passthrough'/></domain>"
    assert live_xml.has_host_cpu(text)
    assert live_xml.guest_cpu(text) is None
