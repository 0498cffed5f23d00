"""The definition of a running guest, changed into what it is to be on another host. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any
from xml.etree.ElementTree import Element

from compute_agent.instance_place import InstancePlace
from compute_agent.virt.libvirt import xml_text
from compute_agent.virt.libvirt.pins import Pins
from compute_agent.virt.libvirt.record import NAMESPACE, write_place


def for_destination(text: str, destination: Mapping[str, Any]) -> str:
    """Return the XML that the destination runs: files and pins are its own, the rest stays.

    ``destination`` is what ``prepare_live`` returned there.
    """
    domain = xml_text.parse(text)
    directory = PurePosixPath(destination["directory"])
    for source in domain.iterfind("./devices/disk/source[@file]"):
        source.set("file", _moved(source.attrib["file"], directory))
    if not destination["is_shared"]:  # the copies stand on no other file
        for disk in domain.iterfind("./devices/disk"):
            _remove(disk, "backingStore")
    for log in domain.iterfind("./devices/*/log[@file]"):
        log.set("file", _moved(log.attrib["file"], directory))
    Pins.from_plain(destination["pins"]).write(domain)
    _note_place(domain, InstancePlace.from_plain(destination["place"]))
    return xml_text.write(domain)


def guest_cpu(text: str) -> str | None:
    """Return the CPU of a running guest as XML to compare a host with; None if it names none."""
    cpu = xml_text.parse(text).find("cpu")
    if cpu is None or cpu.find("model") is None:
        return None
    for name in ("numa", "topology", "maxphysaddr"):  # the guest's own shape, not the host's
        _remove(cpu, name)
    return xml_text.write(cpu)


def has_host_cpu(text: str) -> bool:
    """Whether a running guest has the CPU of its host, whatever that is."""
    cpu = xml_text.parse(text).find("cpu")
    return cpu is not None and cpu.get("mode") in ("host-passthrough", "maximum")


def machine(text: str) -> tuple[str, str]:
    """Return a guest's architecture and machine type."""
    kind = xml_text.parse(text).find("./os/type")
    assert kind is not None  # every domain has one
    return kind.get("arch", ""), kind.get("machine", "")


def _moved(path: str, directory: PurePosixPath) -> str:
    return str(directory / PurePosixPath(path).name)


def _note_place(domain: Element, place: InstancePlace) -> None:
    record = domain.find(f"./metadata/{{{NAMESPACE}}}instance")
    if record is not None:
        write_place(record, place)


def _remove(parent: Element, name: str) -> None:
    for child in parent.findall(name):
        parent.remove(child)
