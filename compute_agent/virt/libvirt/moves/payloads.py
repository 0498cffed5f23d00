"""Payloads that the two hosts of a moving guest send each other; plain JSON on the way.

A payload from another host may have fields that only a newer release knows; they are ignored.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.virt.libvirt.disks.storage import Role
from compute_agent.virt.libvirt.domain.pins import Pins


@dataclasses.dataclass(frozen=True, slots=True)
class DiskFile:
    """A disk or a backing file; ``format`` is raw or qcow2."""

    name: str
    format: str
    bytes: int

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        return cls(plain["name"], plain["format"], int(plain["bytes"]))


FILES = "files"


def disk_name(role: Role, disk_format: str) -> str:
    """Return the name of a disk in payloads, that of its file where it is one."""
    return f"{role}.{disk_format}"


def role_of(disk: DiskFile) -> Role:
    """Return what a disk in a payload is for. Raises ValueError if its name is not of a disk."""
    name, _, disk_format = disk.name.rpartition(".")
    if disk_format not in ("raw", "qcow2") or disk_format != disk.format:
        raise ValueError(disk.name)
    return Role(name)


@dataclasses.dataclass(frozen=True, slots=True)
class ColdPayload:
    """A guest that is off, for its destination. ``base`` is the root disk's backing file.

    ``files`` are those of ``directory``, which take ``used_bytes``; ``volumes`` are disks in
    ``volume_directory``. ``storage`` is the kind of storage that has the disks; an older source has
    files alone, and says neither how much they take nor how large its ephemeral disk is.
    """

    host: str
    address: str
    directory: str
    token: str | None
    root_gb: int
    root_gb_least: int
    files: list[str]
    base: DiskFile | None
    storage: str = FILES
    volumes: list[DiskFile] = dataclasses.field(default_factory=list)
    volume_directory: str = ""
    ephemeral_gb: int = 0
    used_bytes: int = 0

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        base, volumes = plain["base"], plain.get("volumes", [])
        return cls(
            **{
                **_given(cls, plain),
                "base": None if base is None else DiskFile.from_plain(base),
                "volumes": [DiskFile.from_plain(volume) for volume in volumes],
            }
        )


@dataclasses.dataclass(frozen=True, slots=True)
class LiveSource:
    """A running guest, for its destination; ``cpu`` and ``host_cpu`` are XML.

    ``address`` and ``directory`` say where its console log is, and ``used_bytes`` how much copies
    of its disks take at most; an older source does not.
    """

    host: str
    token: str | None
    cpu: str | None
    host_cpu: str | None
    arch: str
    machine: str
    virt_type: str
    disks: list[DiskFile]
    address: str | None = None
    directory: str | None = None
    storage: str = FILES
    used_bytes: int = 0

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        disks = [DiskFile.from_plain(disk) for disk in plain["disks"]]
        return cls(**{**_given(cls, plain), "disks": disks})


@dataclasses.dataclass(frozen=True, slots=True)
class LiveDestination:
    """A host that is prepared for a running guest, for its source.

    ``disks`` are the paths of disks there by name, ``cache`` is the cache mode of those that are
    files; from an older destination, files have the same names as here, below ``directory``.
    """

    host: str
    address: str
    directory: str
    is_shared: bool
    place: InstancePlacement
    pins: Pins
    disks: dict[str, str] | None = None
    cache: str | None = None

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        place = InstancePlacement.from_plain(plain["place"])
        pins = Pins.from_plain(plain["pins"])
        return cls(**{**_given(cls, plain), "place": place, "pins": pins})


def _given(kind: type[Any], plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of fields that a payload has; an older peer has fewer of them."""
    names = (field.name for field in dataclasses.fields(kind))
    return {name: plain[name] for name in names if name in plain}
