"""Resources and usage of one host, as a record for the conductor and placement."""

import dataclasses
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence

import os_traits
from oslo_config import cfg

from compute_agent.host import child_providers, collectors, reserved
from compute_agent.host.allocation_ratios import RATIO_OPTIONS, AllocationRatios
from compute_agent.host.child_providers import ChildProvider
from compute_agent.host.host_topology import FreeTopology
from compute_agent.host.pci_devices import PciDevice
from compute_agent.host.provider_config import KnownProvider, ProviderConfig
from compute_agent.host.reserved import ReservedAmounts, ReservedTopology
from compute_agent.journal.journal import Entry, Journal
from compute_agent.monitors import HostMonitors
from compute_agent.virt.driver import ComputeDriver, HostResources
from objects.hosts.compute_node import ComputeNode

LOG = logging.getLogger(__name__)

OWN_TRAITS = frozenset({"COMPUTE_NODE", "OWNER_NOVA"} & set(os_traits.get_traits()))
"""Traits of every compute node: its role, and the agent as owner of its provider."""
CELL_TRAIT = "COMPUTE_SOCKET_PCI_NUMA_AFFINITY"
"""Trait of hosts with NUMA cells: they support PCI affinity by socket."""


@dataclasses.dataclass(frozen=True, slots=True)
class _ResourceClass:
    """A resource class, and its fields in the resources and in the reserved amounts."""

    name: str
    field: str
    reserve_field: str | None


RESOURCE_CLASSES = (
    _ResourceClass("VCPU", "vcpus", "vcpus"),
    _ResourceClass("PCPU", "pcpus", None),
    _ResourceClass("MEMORY_MB", "memory_mb", "memory_mb"),
    _ResourceClass("DISK_GB", "disk_gb", "disk_gb"),
)


class ResourceTracker:
    """The record of one host, computed each time from driver, journal and options.

    Placement decides on allocation ratios: it receives the explicit value, or None, and the initial
    one. Dedicated CPUs are never overcommitted.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        driver: ComputeDriver,
        journal: Journal,
        ratios: AllocationRatios,
        monitors: HostMonitors,
        node_uuid: str,
        provider_config: ProviderConfig | None = None,
    ) -> None:
        self._conf = conf
        self._driver = driver
        self._journal = journal
        self._ratios = ratios
        self._monitors = monitors
        self._provider_config = provider_config or ProviderConfig()
        self._warned_of: set[str] = set()
        self.node_uuid = node_uuid

    @property
    def host(self) -> str:
        return self._driver.host

    def compute_node(self) -> ComputeNode:
        """Return the host's current record."""
        resources = self._driver.get_resources()
        ratios = self._ratios.of(self.host)
        entries = self._journal.list_entries(host=self.host)
        figures = collectors.HostFigures(
            resources=resources,
            reserved=ReservedAmounts.of(self._conf, guests=len(entries)),
            entries=entries,
            ratios=ratios,
            failed_builds=self._failed_builds(),
            places=FreeTopology.of(
                self._driver,
                ratios,
                entries,
                packing=self._conf.compute.packing_host_numa_cells_allocation_strategy,
                reserve=ReservedTopology.of(self._conf),
                devices=self._devices(),
            ),
            metrics=self._monitors.metrics(),
        )
        inventories = self._inventories(resources, figures.reserved)
        added = self._provider_config.additions(self._own_provider(inventories))
        traits = self._traits(has_cells=figures.places.topology is not None)
        return ComputeNode.from_values(
            uuid=self.node_uuid,
            host=self.host,
            node=self._driver.node,
            attributes=collectors.collect(figures, self._driver.get_attributes()),
            inventories={**inventories, **added.inventories},
            traits=sorted(traits | added.traits),
            child_providers=[
                {**dataclasses.asdict(child), "traits": sorted(child.traits)}
                for child in map(self._with_additions, self._children(entries))
            ],
        )

    def check(self) -> list[KnownProvider]:
        """Validate the host's configuration and return its providers.

        Raises ConfigurationError.
        """
        reserved.check_pages(self._conf, self.host, self._driver.get_numa_cells())
        if self._conf.pci.report_in_placement:
            child_providers.check_devices(self.host, self._driver.get_pci_devices())
        inventories = self._inventories(
            self._driver.get_resources(), ReservedAmounts.of(self._conf, guests=0)
        )
        return [self._own_provider(inventories), *map(_known, self._children([]))]

    def note_ratios(self, ratios: Mapping[str, float]) -> bool:
        """Store the ratios found in placement; return whether the effective ratios changed."""
        return self._ratios.note(self.host, ratios)

    def _traits(self, *, has_cells: bool) -> frozenset[str]:
        traits = self._driver.get_traits() | OWN_TRAITS
        return traits | {CELL_TRAIT} if has_cells else traits

    def _own_provider(self, inventories: Collection[str]) -> KnownProvider:
        return KnownProvider(self.node_uuid, self._driver.node, inventories, is_node=True)

    def _children(self, entries: Iterable[Entry]) -> list[ChildProvider]:
        both = (place for entry in entries for place in (entry.place, entry.former_place))
        places = [place for place in both if place is not None]
        return child_providers.children_of(
            self._conf, self._driver, self.node_uuid,
            unclaimed=child_providers.unclaimed_in(places),
        )  # fmt: skip

    def _devices(self) -> Sequence[PciDevice]:
        """Return the devices as schedulers see them."""
        devices = self._driver.get_pci_devices()
        if not self._conf.pci.report_in_placement:
            return devices
        return child_providers.named(child_providers.counted(devices), self.node_uuid)

    def _with_additions(self, child: ChildProvider) -> ChildProvider:
        added = self._provider_config.additions(_known(child))
        return dataclasses.replace(
            child,
            inventories={**child.inventories, **added.inventories},
            traits=child.traits | added.traits,
        )

    def _failed_builds(self) -> int:
        if not self._conf.compute.consecutive_build_service_disable_threshold:
            return 0
        return self._journal.failed_builds(self.host)

    def _inventories(
        self, resources: HostResources, reserved: ReservedAmounts
    ) -> dict[str, dict[str, float | None]]:
        inventories: dict[str, dict[str, float | None]] = {}
        for kind in RESOURCE_CLASSES:
            total = getattr(resources, kind.field)
            if total < 1:  # placement has no empty inventories
                continue
            kept_back = getattr(reserved, kind.reserve_field) if kind.reserve_field else 0
            inventories[kind.name] = {
                "total": total,
                "reserved": self._reserved(kind, total, kept_back),
                "min_unit": 1,
                "max_unit": total,
                "step_size": 1,
                **self._ratio_values(kind),
            }
        return inventories

    def _ratio_values(self, kind: _ResourceClass) -> dict[str, float | None]:
        option = RATIO_OPTIONS.get(kind.name)
        if option is None:
            return {"allocation_ratio": 1.0, "initial_allocation_ratio": 1.0}
        return {
            "allocation_ratio": self._conf[option],
            "initial_allocation_ratio": self._conf[f"initial_{option}"],
        }

    def _reserved(self, kind: _ResourceClass, total: int, reserved: int) -> int:
        if reserved <= total:
            return reserved
        if kind.name not in self._warned_of:
            self._warned_of.add(kind.name)
            LOG.warning(
                "%s: cannot reserve %d %s, only %d exist; the host offers none",
                self.host, reserved, kind.name, total,
            )  # fmt: skip
        return total


def _known(child: ChildProvider) -> KnownProvider:
    return KnownProvider(child.uuid, child.name, child.inventories.keys(), is_node=False)
