"""Guests move between two daemons of which one is killed on the way, and comes back.

The guest runs in one place afterwards, with its data, where the API says that it is.
"""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import expected_allocations
from tests.integration.libvirt.libvirt_daemons import NAMES, Daemons
from tests.integration.libvirt.libvirt_system import (
    HOST,
    SECONDS_MAX,
    LibvirtSystem,
    nothing_is_left,
    request_for,
    system,
    wait_for_boots,
)

__all__ = ["nothing_is_left", "request_for", "system"]

pytestmark = [pytest.mark.libvirt, pytest.mark.rabbitmq, pytest.mark.long]

SHORT_SECONDS = 1.0
"""An agent waits longer than this for its daemon."""


@pytest.fixture
def guest(system: LibvirtSystem, request_for: dict[str, Any]) -> str:
    """A server that runs on the first host."""
    (uuid,) = system.create_servers(**request_for, availability_zone="nova:a")
    assert system.settled([uuid])[uuid]["status"] == "ACTIVE", system.logs()
    wait_for_boots(system, uuid, 1)
    return uuid


@pytest.fixture
def restart(system: LibvirtSystem, both_daemons: Daemons) -> Callable[[str], None]:
    """Return a function that kills a daemon, which is back a moment later."""

    def kill(name: str) -> None:
        daemon = both_daemons.daemons[name]
        daemon.kill()
        threading.Event().wait(SHORT_SECONDS)
        daemon.start()
        system.connect()

    return kill


def check(system: LibvirtSystem, uuid: str, status: str) -> str:
    """Return the host on which the server is, and alone; it goes on there, and may move again."""
    server = system.at_rest([uuid], seconds=SECONDS_MAX)[uuid]
    host, said = server[HOST], (system.why(uuid), system.logs())
    assert server["status"] == status, said
    elsewhere = {name: of for name, of in system.guests().items() if name != host}
    assert system.guests()[host] == {uuid: True}, said
    assert all(not any(of.values()) for of in elsewhere.values()), said
    assert system.allocations() == expected_allocations(system)
    before = len(system.console(uuid))
    wait_for(lambda: len(system.console(uuid)) > before, "it runs on", SECONDS_MAX)
    return str(host)


@pytest.mark.parametrize("killed", NAMES)
def test_a_live_move_survives_a_daemon(
    system: LibvirtSystem, guest: str, restart: Callable[[str], None], killed: str
) -> None:
    """It arrives, or stays, with the reason; the next try arrives."""
    live = {"host": None, "block_migration": "auto"}
    system.act(guest, "os-migrateLive", live)
    wait_for(lambda: system.is_moving("a", guest), "it is on its way", SECONDS_MAX, 0.02)
    restart(killed)
    if check(system, guest, "ACTIVE") == "a":
        (failed,) = [each for each in system.why(guest) if each["result"] == "Error"]
        assert "libvirt" in str(failed) or "closed" in str(failed), failed
        system.act(guest, "os-migrateLive", live)
        assert check(system, guest, "ACTIVE") == "b"


@pytest.mark.parametrize("killed", NAMES)
def test_a_cold_move_survives_a_daemon(
    system: LibvirtSystem, guest: str, restart: Callable[[str], None], killed: str
) -> None:
    """It arrives, or is back where it was, with the reason; the next try arrives."""
    system.act(guest, "migrate")
    wait_for(lambda: system.guests()["a"] == {guest: False}, "it is off", SECONDS_MAX, 0.002)
    restart(killed)
    server = system.at_rest([guest], seconds=SECONDS_MAX)[guest]
    if server["status"] == "ACTIVE":
        assert check(system, guest, "ACTIVE") == "a"
        system.act(guest, "migrate")
    server = system.at_rest([guest], seconds=SECONDS_MAX)[guest]
    assert server["status"] == "VERIFY_RESIZE", (system.why(guest), system.logs())
    system.act(guest, "confirmResize")
    assert check(system, guest, "ACTIVE") == "b"
