"""Our record in a guest's metadata, by which we recognise our guests."""

import dataclasses
import json
from typing import Self
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.virt.libvirt.domain import xml_text
from objects.instance import Instance

NAMESPACE = "urn:armillary:libvirt:1"
PREFIX = "armillary"
_ROOT = "instance"

ElementTree.register_namespace(PREFIX, NAMESPACE)


@dataclasses.dataclass(frozen=True, slots=True)
class GuestRecord:
    """The instance's properties when the guest was defined.

    ``root_gb_least`` is the flavor's root disk before the last resize. A reverted resize may
    declare it again, although the disk does not shrink.
    """

    name: str
    project_id: str
    flavor: str
    vcpus: int
    memory_mb: int
    root_gb: int
    root_gb_least: int
    place: InstancePlacement

    @classmethod
    def of(
        cls, instance: Instance, place: InstancePlacement, root_gb_least: int | None = None
    ) -> Self:
        """Return the record of an instance with its placement."""
        flavor = instance.flavor
        return cls(
            name=instance.name,
            project_id=instance.project_id,
            flavor=flavor.name,
            vcpus=flavor.vcpus,
            memory_mb=flavor.memory_mb,
            root_gb=flavor.root_gb,
            root_gb_least=flavor.root_gb if root_gb_least is None else root_gb_least,
            place=place,
        )

    def to_element(self) -> Element:
        root = Element(_tag(_ROOT))
        SubElement(root, _tag("name")).text = one_line(self.name)
        SubElement(root, _tag("project")).text = self.project_id
        sizes = ("vcpus", "memory_mb", "root_gb", "root_gb_least")
        SubElement(
            root,
            _tag("flavor"),
            {"name": self.flavor, **{size: str(getattr(self, size)) for size in sizes}},
        )
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
                root_gb=int(flavor.attrib["root_gb"]),
                root_gb_least=int(flavor.attrib["root_gb_least"]),
                place=ANYWHERE
                if place is None
                else InstancePlacement.from_plain(json.loads(place.text or "")),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"the guest's metadata are invalid: {error}") from error


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
