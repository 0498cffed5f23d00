"""NUMA cells that an instance requests, with the host cells once it is fitted."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from armillary import exception

SHARED, DEDICATED, MIXED = CPU_POLICIES = ("shared", "dedicated", "mixed")
PREFER, ISOLATE, REQUIRE = THREAD_POLICIES = ("prefer", "isolate", "require")
ISOLATE_EMULATOR = "isolate"
SHARE_EMULATOR = "share"
EMULATOR_POLICIES = (SHARE_EMULATOR, ISOLATE_EMULATOR)
SMALL, LARGE, ANY = PAGE_WORDS = ("small", "large", "any")


@dataclass(frozen=True, slots=True)
class InstanceCell:
    """A guest's NUMA cell: its shared and pinned vCPUs, by number, and its memory.

    ``page_size_kb`` is None for any ordinary memory, which may be overcommitted, a size in KiB, or,
    before a fit, one of ``PAGE_WORDS``. A fit sets the other fields: the id of the host cell, the
    CPU of each pinned vCPU, and the CPUs of isolated emulator threads.
    """

    id: int
    vcpus: frozenset[int] = frozenset()
    pinned_vcpus: frozenset[int] = frozenset()
    memory_mb: int = 0
    page_size_kb: int | str | None = None
    host_cell: int | None = None
    pinning: Mapping[int, int] = field(default_factory=dict)
    emulator_cpus: frozenset[int] = frozenset()

    @property
    def cpus_taken(self) -> frozenset[int]:
        """The host CPUs that are dedicated to the cell."""
        return self.emulator_cpus.union(self.pinning.values())

    def to_plain(self) -> dict[str, object]:
        """Return the wire form."""
        return {
            "id": self.id,
            "vcpus": sorted(self.vcpus),
            "pinned_vcpus": sorted(self.pinned_vcpus),
            "memory_mb": self.memory_mb,
            "page_size_kb": self.page_size_kb,
            "host_cell": self.host_cell,
            "pinning": {str(vcpu): cpu for vcpu, cpu in sorted(self.pinning.items())},
            "emulator_cpus": sorted(self.emulator_cpus),
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form."""
        host_cell = plain.get("host_cell")
        page_size = plain.get("page_size_kb")
        return cls(
            id=int(plain["id"]),
            vcpus=frozenset(map(int, plain.get("vcpus") or ())),
            pinned_vcpus=frozenset(map(int, plain.get("pinned_vcpus") or ())),
            memory_mb=int(plain["memory_mb"]),
            page_size_kb=page_size if page_size in (None, *PAGE_WORDS) else int(page_size),
            host_cell=None if host_cell is None else int(host_cell),
            pinning={int(vcpu): int(cpu) for vcpu, cpu in (plain.get("pinning") or {}).items()},
            emulator_cpus=frozenset(map(int, plain.get("emulator_cpus") or ())),
        )


@dataclass(frozen=True, slots=True)
class InstanceTopology:
    """Requested NUMA cells; ``emulator_threads_policy`` applies to the first."""

    cells: tuple[InstanceCell, ...]
    cpu_policy: str | None = None
    thread_policy: str | None = None
    emulator_threads_policy: str | None = None

    @property
    def has_pinned_cpus(self) -> bool:
        """Whether some vCPUs have dedicated CPUs; then memory is never overcommitted."""
        return self.cpu_policy in (DEDICATED, MIXED)

    @property
    def isolates_emulator(self) -> bool:
        """Whether the emulator's threads have a dedicated CPU."""
        return self.emulator_threads_policy == ISOLATE_EMULATOR

    @property
    def shares_emulator(self) -> bool:
        """Whether the emulator's threads keep off the instance's dedicated CPUs."""
        return self.emulator_threads_policy == SHARE_EMULATOR

    @property
    def host_cells(self) -> frozenset[int]:
        """Ids of the host cells that it was fitted to."""
        return frozenset(cell.host_cell for cell in self.cells if cell.host_cell is not None)

    def to_plain(self) -> dict[str, object]:
        """Return the wire form, made of JSON values."""
        return {
            "cells": [cell.to_plain() for cell in self.cells],
            "cpu_policy": self.cpu_policy,
            "thread_policy": self.thread_policy,
            "emulator_threads_policy": self.emulator_threads_policy,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Self:
        """Parse a wire form. Raises ``InvalidNUMATopology`` if it is malformed."""
        try:
            return cls(
                cells=tuple(InstanceCell.from_plain(cell) for cell in plain["cells"]),
                cpu_policy=plain.get("cpu_policy"),
                thread_policy=plain.get("thread_policy"),
                emulator_threads_policy=plain.get("emulator_threads_policy"),
            )
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise exception.InvalidNUMATopology(
                key="numa_topology",
                source="an instance",
                found=repr(plain)[:200],
                allowed=f"the wire form of its cells ({type(error).__name__}: {error})",
            ) from error
