"""Domain XML of running guests: their disks, and rewrites for a live migration. Pure."""

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from xml.etree.ElementTree import Element

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.libvirt.domain import xml_text
from compute_agent.virt.libvirt.domain.guest_disks import SOURCE_ATTRIBUTES, DiskKind
from compute_agent.virt.libvirt.moves.payloads import LiveDestination
from compute_agent.virt.libvirt.record import NAMESPACE, write_place


def for_destination(text: str, destination: LiveDestination, names: Mapping[str, str]) -> str:
    """Return the XML for the destination, with its paths and pins; the rest is unchanged.

    ``names`` are those of the guest's disks by their paths here.
    """
    domain = xml_text.parse(text)
    directory = PurePosixPath(destination.directory)
    for disk in domain.iterfind("./devices/disk"):
        _move_disk(disk, destination, names)
    for log in domain.iterfind("./devices/*/log[@file]"):
        log.set("file", _moved(log.attrib["file"], directory))
    for nvram in domain.iterfind("./os/nvram"):
        nvram.text = _moved(nvram.text or "", directory)
    destination.pins.write(domain)
    _note_place(domain, destination.place)
    return xml_text.write(domain)


def _move_disk(disk: Element, destination: LiveDestination, names: Mapping[str, str]) -> None:
    if not destination.is_shared:  # the copies have no backing file
        _remove(disk, "backingStore")
    source, driver = disk.find("source"), disk.find("driver")
    attribute = SOURCE_ATTRIBUTES[DiskKind(disk.get("type", DiskKind.FILE))]
    if source is None or attribute not in source.attrib:
        return
    path = source.attrib[attribute]
    if destination.disks is not None and path in names:
        source.set(attribute, destination.disks.get(names[path], path))
        if driver is not None and attribute == "file":
            driver.attrib.pop("cache", None)
            if destination.cache is not None:
                driver.set("cache", destination.cache)
    elif attribute == "file":
        source.set(attribute, _moved(path, PurePosixPath(destination.directory)))


def disk_paths(text: str) -> Iterator[Path]:
    """Yield the files and block devices of a guest's disks, with their backing files."""
    for disk in xml_text.parse(text).iterfind("./devices/disk"):
        for source in (*disk.iterfind("source"), *disk.iterfind(".//backingStore/source")):
            path = source.get("file") or source.get("dev")
            if path is not None:
                yield Path(path)


def guest_cpu(text: str) -> str | None:
    """Return a running guest's CPU as XML for a comparison with hosts; None without a model."""
    cpu = xml_text.parse(text).find("cpu")
    if cpu is None or cpu.find("model") is None:
        return None
    for name in ("numa", "topology", "maxphysaddr"):  # these do not depend on the host
        _remove(cpu, name)
    return xml_text.write(cpu)


def has_host_cpu(text: str) -> bool:
    """Return whether a running guest has its host's CPU passed through."""
    cpu = xml_text.parse(text).find("cpu")
    return cpu is not None and cpu.get("mode") in ("host-passthrough", "maximum")


def machine(text: str) -> tuple[str, str]:
    """Return a guest's architecture and machine type."""
    kind = xml_text.parse(text).find("./os/type")
    assert kind is not None  # every domain has one
    return kind.get("arch", ""), kind.get("machine", "")


def _moved(path: str, directory: PurePosixPath) -> str:
    return str(directory / PurePosixPath(path).name)


def _note_place(domain: Element, place: InstancePlacement) -> None:
    record = domain.find(f"./metadata/{{{NAMESPACE}}}instance")
    if record is not None:
        write_place(record, place)


def _remove(parent: Element, name: str) -> None:
    for child in parent.findall(name):
        parent.remove(child)
