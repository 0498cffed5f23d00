"""Resources that a host reserves for itself."""

from __future__ import annotations

from pathlib import Path

from compute_agent.host.reserved_amounts import ReservedAmounts
from tests.fixtures.agent import agent_conf


def test_disk_is_rounded_up_to_whole_gib(tmp_path: Path) -> None:
    """A started GiB is kept back whole."""
    conf = agent_conf(tmp_path)
    conf.set_override("reserved_host_cpus", 2)
    conf.set_override("reserved_host_disk_mb", 1025)
    assert ReservedAmounts.of(conf) == ReservedAmounts(vcpus=2, memory_mb=512, disk_gb=2)
