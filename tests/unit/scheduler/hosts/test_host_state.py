"""A host state is one row of a table, with plain values."""

from typing import Any

import pytest

from tests.fleets import a_host, a_table


def test_values_are_plain() -> None:
    """No NumPy type reaches a plugin that looks at one host."""
    state = a_table([a_host(free_ram_mb=5, service_up=True, cpu_allocation_ratio=2.0)])[0]
    assert type(state.free_ram_mb) is int
    assert type(state.service_up) is bool
    assert type(state.cpu_allocation_ratio) is float


def test_nothing_can_be_changed() -> None:
    """A plugin only looks."""
    state: Any = a_table([a_host()])[0]
    with pytest.raises(AttributeError):
        state.free_ram_mb = 1


def test_find_knows_readable_names_only() -> None:
    """Requests may name what they like."""
    state = a_table([a_host()])[0]
    assert state.find("hypervisor_type") == "simulated"
    assert state.find("instances") is None
    assert state.find("_hosts") is None


def test_it_names_its_host() -> None:
    """In logs and in a debugger."""
    assert repr(a_table([a_host("web")])[0]) == "<HostState web web.example.org>"
