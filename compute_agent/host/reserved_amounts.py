"""Resources that each host reserves for itself, by configuration."""

from __future__ import annotations

import dataclasses
import math
from typing import Self

from oslo_config import cfg

MIB_PER_GIB = 1024


@dataclasses.dataclass(frozen=True, slots=True)
class ReservedAmounts:
    """vCPUs, memory in MiB and disk in GiB that are never allocated."""

    vcpus: int
    memory_mb: int
    disk_gb: int

    @classmethod
    def of(cls, conf: cfg.ConfigOpts) -> Self:
        return cls(
            vcpus=conf.reserved_host_cpus,
            memory_mb=conf.reserved_host_memory_mb,
            disk_gb=math.ceil(conf.reserved_host_disk_mb / MIB_PER_GIB),
        )
