"""Simulated guests that outlive the agent."""

import contextlib
import sqlite3
from pathlib import Path

import pytest

from armillary import exception
from compute_agent.virt.simulated.simulated_guest import Role, SimulatedGuest
from compute_agent.virt.simulated.simulated_store import SimulatedStore
from tests.builders import A_TIME

A_GUEST = SimulatedGuest(
    "u", Role.ARRIVING, power_state="shutdown", vcpus=1, memory_mb=2, disk_gb=3, source="b"
).booted(A_TIME)


def put(store: SimulatedStore, host: str, guest: SimulatedGuest) -> None:
    store.change(host, guest.uuid, lambda _: guest)


def uuids(store: SimulatedStore, host: str) -> list[str]:
    return [guest.uuid for guest in store.list_guests(host)]


def test_guests_are_there_for_the_next_process(tmp_path: Path) -> None:
    """Each on its host; twice is once; what was removed is not."""
    store = SimulatedStore(tmp_path / "guests.sqlite")
    store.open()
    for host, uuid in (("a", "1"), ("a", "1"), ("a", "2"), ("b", "3")):
        put(store, host, SimulatedGuest(uuid))
    store.remove("a", "2")
    store.remove("a", "9")
    again = SimulatedStore(tmp_path / "guests.sqlite")
    again.open()
    assert [uuids(again, host) for host in ("a", "b", "c")] == [["1"], ["3"], []]
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
        put(store, "a", A_GUEST)
    assert store.list_guests("a") == []


def test_all_of_a_guest_is_there_again(tmp_path: Path) -> None:
    """Every field."""
    store = SimulatedStore(tmp_path / "guests.sqlite")
    store.open()
    put(store, "a", A_GUEST)
    again = SimulatedStore(tmp_path / "guests.sqlite")
    again.open()
    assert again.find("a", "u") == A_GUEST
    again.close()
    store.close()


def test_a_change_that_raises_changes_nothing(tmp_path: Path) -> None:
    """Neither in memory nor in the file."""
    store = SimulatedStore(tmp_path / "guests.sqlite")
    store.open()
    put(store, "a", A_GUEST)
    with pytest.raises(ZeroDivisionError):
        store.change("a", "u", lambda guest: SimulatedGuest(str(1 // 0)))
    assert store.find("a", "u") == A_GUEST
    store.close()


def test_a_newer_file_stops_the_agent(tmp_path: Path) -> None:
    """And stays as it is."""
    path = tmp_path / "guests.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(exception.ConfigurationError, match="version 99"):
        SimulatedStore(path).open()
