"""What one host has and uses, as the record that goes to the conductor and to placement."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from oslo_config import cfg

from compute_agent import collectors
from compute_agent.journal import Journal
from compute_agent.reserved_amounts import ReservedAmounts
from compute_agent.virt.driver import ComputeDriver, HostResources
from objects.compute_node import ComputeNode

LOG = logging.getLogger(__name__)

COMPUTE_NODE_TRAIT = "COMPUTE_NODE"


@dataclasses.dataclass(frozen=True, slots=True)
class _ResourceClass:
    """A kind of resource, and where its figures are in resources, reserve and options."""

    name: str
    field: str
    ratio_option: str


RESOURCE_CLASSES = (
    _ResourceClass("VCPU", "vcpus", "cpu_allocation_ratio"),
    _ResourceClass("MEMORY_MB", "memory_mb", "ram_allocation_ratio"),
    _ResourceClass("DISK_GB", "disk_gb", "disk_allocation_ratio"),
)


class ResourceTracker:
    """The figures of one host, worked out anew from driver, journal and options each time.

    Of allocation ratios an explicit option wins over the value in placement, which wins over
    ``initial_*``. Placement decides: it is sent the explicit value, or none, and the initial one
    beside it.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, *, driver: ComputeDriver, journal: Journal, node_uuid: str
    ) -> None:
        self._conf = conf
        self._driver = driver
        self._journal = journal
        self._placement_ratios: dict[str, float] = {}
        self._warned_of: set[str] = set()
        self.node_uuid = node_uuid

    @property
    def host(self) -> str:
        return self._driver.host

    def compute_node(self) -> ComputeNode:
        """Return the host's record as it is now."""
        resources = self._driver.get_resources()
        figures = collectors.HostFigures(
            resources=resources,
            reserved=ReservedAmounts.of(self._conf),
            entries=self._journal.list_entries(host=self.host),
            ratios=self._ratios(),
            failed_builds=self._failed_builds(),
        )
        return ComputeNode.from_values(
            uuid=self.node_uuid,
            host=self.host,
            node=self._driver.node,
            attributes=collectors.collect(figures, self._driver.get_attributes()),
            inventories=self._inventories(resources, figures.reserved),
            traits=sorted({*self._driver.get_traits(), COMPUTE_NODE_TRAIT}),
        )

    def note_ratios(self, ratios: Mapping[str, float]) -> bool:
        """Take over the ratios as they stand in placement; return whether that changed any."""
        before = self._ratios()
        self._placement_ratios = dict(ratios)
        return self._ratios() != before

    def _ratios(self) -> dict[str, float]:
        return {kind.name: self._ratio(kind) for kind in RESOURCE_CLASSES}

    def _ratio(self, kind: _ResourceClass) -> float:
        explicit = self._conf[kind.ratio_option]
        if explicit is not None:
            return float(explicit)
        return self._placement_ratios.get(kind.name, self._conf[f"initial_{kind.ratio_option}"])

    def _failed_builds(self) -> int:
        if not self._conf.compute.consecutive_build_service_disable_threshold:
            return 0
        return self._journal.failed_builds(self.host)

    def _inventories(
        self, resources: HostResources, reserved: ReservedAmounts
    ) -> dict[str, dict[str, Any]]:
        inventories = {}
        for kind in RESOURCE_CLASSES:
            total = getattr(resources, kind.field)
            if total < 1:  # an inventory of nothing is no inventory
                continue
            inventories[kind.name] = {
                "total": total,
                "reserved": self._reserved(kind, total, getattr(reserved, kind.field)),
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                "allocation_ratio": self._conf[kind.ratio_option],
                "initial_allocation_ratio": self._conf[f"initial_{kind.ratio_option}"],
            }
        return inventories

    def _reserved(self, kind: _ResourceClass, total: int, reserved: int) -> int:
        if reserved <= total:
            return reserved
        if kind.name not in self._warned_of:
            self._warned_of.add(kind.name)
            LOG.warning(
                "%s: %d %s are to be reserved and %d are there; the host offers none",
                self.host, reserved, kind.name, total,
            )  # fmt: skip
        return total
