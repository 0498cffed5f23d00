"""Our record in a guest's metadata, by which we recognise our guests."""

import dataclasses
import json
from typing import Self
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from compute_agent.virt.libvirt.domain import xml_text
from objects.flavor import Flavor
from objects.instance import Instance

NAMESPACE = "urn:armillary:libvirt:1"
PREFIX = "armillary"
_ROOT = "instance"

ElementTree.register_namespace(PREFIX, NAMESPACE)


@dataclasses.dataclass(frozen=True, slots=True)
class DiskSizes:
    """Sizes of a guest's root and ephemeral disk, GiB."""

    root_gb: int
    ephemeral_gb: int

    @classmethod
    def of(cls, flavor: Flavor) -> Self:
        return cls(flavor.root_gb, flavor.ephemeral_gb)


@dataclasses.dataclass(frozen=True, slots=True)
class GuestRecord:
    """The instance's properties when the guest was defined.

    ``least`` are the flavor's disks before the last resize. A reverted resize may declare them
    again, although the disks do not shrink.
    """

    name: str
    project_id: str
    flavor: str
    vcpus: int
    memory_mb: int
    disks: DiskSizes
    least: DiskSizes
    place: InstancePlacement

    @classmethod
    def of(
        cls, instance: Instance, place: InstancePlacement, least: DiskSizes | None = None
    ) -> Self:
        """Return the record of an instance with its placement."""
        flavor = instance.flavor
        return cls(
            name=instance.name,
            project_id=instance.project_id,
            flavor=flavor.name,
            vcpus=flavor.vcpus,
            memory_mb=flavor.memory_mb,
            disks=DiskSizes.of(flavor),
            least=least or DiskSizes.of(flavor),
            place=place,
        )

    def to_element(self) -> Element:
        root = Element(_tag(_ROOT))
        SubElement(root, _tag("name")).text = one_line(self.name)
        SubElement(root, _tag("project")).text = self.project_id
        sizes = {
            "vcpus": self.vcpus,
            "memory_mb": self.memory_mb,
            "root_gb": self.disks.root_gb,
            "root_gb_least": self.least.root_gb,
            "ephemeral_gb": self.disks.ephemeral_gb,
            "ephemeral_gb_least": self.least.ephemeral_gb,
        }
        written = {name: str(size) for name, size in sizes.items()}
        SubElement(root, _tag("flavor"), {"name": self.flavor, **written})
        write_place(root, self.place)
        return root

    def to_text(self) -> str:
        """Return the element as libvirt takes it from ``setMetadata``, which adds the namespace."""
        root = self.to_element()
        for part in root.iter():
            part.tag = _local(part)
        return xml_text.write(root)

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Return the record from the text of its element, with or without namespace prefixes.

        Raises ValueError for anything else.
        """
        try:
            parts = {_local(part): part for part in xml_text.parse(text)}
            flavor = parts["flavor"]
            place = parts.get("place")
            return cls(
                name=parts["name"].text or "",
                project_id=parts["project"].text or "",
                flavor=flavor.attrib["name"],
                vcpus=int(flavor.attrib["vcpus"]),
                memory_mb=int(flavor.attrib["memory_mb"]),
                disks=_sizes(flavor),
                least=_sizes(flavor, "_least"),
                place=ANYWHERE
                if place is None
                else InstancePlacement.from_plain(json.loads(place.text or "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the guest's metadata are invalid: {error}") from error


def _sizes(flavor: Element, suffix: str = "") -> DiskSizes:
    """Return sizes from the element of a flavor."""
    return DiskSizes(
        int(flavor.attrib[f"root_gb{suffix}"]), int(flavor.attrib[f"ephemeral_gb{suffix}"])
    )


def one_line(text: str) -> str:
    """Return a text without line breaks and characters that XML does not allow."""
    return "".join(char if char.isprintable() else " " for char in text)


def write_place(record: Element, place: InstancePlacement) -> None:
    """Write a placement into a record's element, replacing an existing one."""
    for old in record.findall(_tag("place")):
        record.remove(old)
    if not place.is_anywhere:
        SubElement(record, _tag("place")).text = json.dumps(place.to_plain(), sort_keys=True)


def _tag(name: str) -> str:
    return f"{{{NAMESPACE}}}{name}"


def _local(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def least_sizes(flavor: Flavor, now: DiskSizes, least: DiskSizes) -> DiskSizes:
    """Return the smallest disks that those of a guest resized to a flavor may be declared as.

    A disk never shrinks. Its flavor may, to revert a resize, or to have no ephemeral disk any more.
    Raises DiskError.
    """
    keeps_ephemeral = flavor.ephemeral_gb > 0
    return DiskSizes(
        _least_gb("root", flavor.root_gb, now.root_gb, least.root_gb),
        _least_gb("ephemeral", flavor.ephemeral_gb, now.ephemeral_gb, least.ephemeral_gb)
        if keeps_ephemeral
        else 0,
    )


def _least_gb(which: str, wanted: int, now: int, least: int) -> int:
    if wanted < now and wanted != least:
        raise DiskError(f"its {which} disk has {now} GiB and cannot shrink to {wanted} GiB")
    return least if wanted == now else min(wanted, now)
