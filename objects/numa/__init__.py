"""NUMA: requested and available topologies, and fitting one to the other. Pure, no I/O."""

from objects.numa.cpu_sets import format_cpus, parse_cpus
from objects.numa.demands import CpuDemand, cpu_demand, topology_of
from objects.numa.fitting import consume, fit, fits, release
from objects.numa.host import HostCell, HostTopology, PagePool
from objects.numa.instance import InstanceCell, InstanceTopology
from objects.numa.reasons import why_not

__all__ = [
    "CpuDemand", "HostCell", "HostTopology", "InstanceCell", "InstanceTopology", "PagePool",
    "consume", "cpu_demand", "fit", "fits", "format_cpus", "parse_cpus", "release", "topology_of",
    "why_not",
]  # fmt: skip
