"""Payloads that the two hosts of a moving guest send each other; plain JSON on the way.

A payload from another host may have fields that only a newer release knows; they are ignored.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from compute_agent.host.instance_topology import InstancePlacement
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


@dataclasses.dataclass(frozen=True, slots=True)
class ColdPayload:
    """A guest that is off, for its destination. ``base`` is the root disk's backing file."""

    host: str
    address: str
    directory: str
    token: str | None
    root_gb: int
    root_gb_least: int
    files: list[str]
    base: DiskFile | None

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        values = {field.name: plain[field.name] for field in dataclasses.fields(cls)}
        base = plain["base"]
        return cls(**{**values, "base": None if base is None else DiskFile.from_plain(base)})


@dataclasses.dataclass(frozen=True, slots=True)
class LiveSource:
    """A running guest, for its destination; ``cpu`` and ``host_cpu`` are XML.

    ``address`` and ``directory`` say where its console log is; an older source does not.
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

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        names = [field.name for field in dataclasses.fields(cls) if field.name in plain]
        values = {name: plain[name] for name in names}
        return cls(**{**values, "disks": [DiskFile.from_plain(disk) for disk in plain["disks"]]})


@dataclasses.dataclass(frozen=True, slots=True)
class LiveDestination:
    """A host that is prepared for a running guest, for its source."""

    host: str
    address: str
    directory: str
    is_shared: bool
    place: InstancePlacement
    pins: Pins

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        values = {field.name: plain[field.name] for field in dataclasses.fields(cls)}
        place = InstancePlacement.from_plain(plain["place"])
        return cls(**{**values, "place": place, "pins": Pins.from_plain(plain["pins"])})
