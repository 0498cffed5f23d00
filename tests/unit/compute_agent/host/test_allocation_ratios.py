"""Allocation ratios of an agent's hosts: whose word counts."""

from pathlib import Path

import pytest

from compute_agent.host.allocation_ratios import AllocationRatios
from tests.fixtures.agent import agent_conf


@pytest.fixture
def ratios(tmp_path: Path) -> AllocationRatios:
    """Return the ratios of an agent that placement has told nothing yet."""
    return AllocationRatios(agent_conf(tmp_path))


def test_each_host_has_its_own(ratios: AllocationRatios) -> None:
    """Placement may hold different ones; what it does not name begins as configured."""
    assert ratios.note("a", {"VCPU": 8.0, "PCPU": 1.0})
    assert ratios.of("a") == {"VCPU": 8.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}
    assert ratios.of("b") == {"VCPU": 4.0, "MEMORY_MB": 1.0, "DISK_GB": 1.0}


def test_what_is_known_already_is_not_a_change(ratios: AllocationRatios) -> None:
    """The record need not be sent again."""
    assert not ratios.note("a", {"VCPU": 4.0})
