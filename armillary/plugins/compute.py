"""Imports for compute drivers and monitors of third parties."""

from armillary.exception import OperationUnsupported
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.host.pci_devices import PciDevice
from compute_agent.monitors import Monitor
from compute_agent.virt.driver import (
    ComputeDriver,
    Feature,
    GuestInfo,
    HostResources,
    LiveWatch,
    Readings,
)
from compute_agent.virt.metrics import Kind as MetricKind
from objects.instance import Instance
from objects.numa import HostCell

__all__ = [
    "ANYWHERE", "ComputeDriver", "Feature", "GuestInfo", "HostCell", "HostResources", "Instance",
    "InstancePlacement", "LiveWatch", "MetricKind", "Monitor", "OperationUnsupported", "PciDevice",
    "Readings",
]  # fmt: skip
