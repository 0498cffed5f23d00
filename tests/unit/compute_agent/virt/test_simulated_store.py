"""Simulated guests that outlive the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from armillary import exception
from compute_agent.virt.simulated_store import SimulatedStore


def test_guests_are_there_for_the_next_process(tmp_path: Path) -> None:
    """Each on its host; twice is once; what was removed is not."""
    store = SimulatedStore(tmp_path / "guests.sqlite")
    store.open()
    for host, uuid in (("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")):
        store.add(host, uuid)
    store.remove("a", "2")
    store.remove("a", "9")
    again = SimulatedStore(tmp_path / "guests.sqlite")
    again.open()
    assert [again.list_uuids(host) for host in ("a", "b", "c")] == [["1"], ["3"], []]
    again.close()
    store.close()


def test_a_broken_file_stops_the_agent(tmp_path: Path) -> None:
    """With what to do about it."""
    path = tmp_path / "guests.sqlite"
    path.write_bytes(b"nonsense" * 1000)
    with pytest.raises(exception.ConfigurationError, match="remove it"):
        SimulatedStore(path).open()


def test_a_closed_store_takes_no_guest(tmp_path: Path) -> None:
    """A build that is still running when the agent stops fails, and is built again."""
    store = SimulatedStore(tmp_path / "guests.sqlite")
    store.open()
    store.close()
    with pytest.raises(exception.Unavailable):
        store.add("a", "1")
