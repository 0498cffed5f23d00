"""Without systemd nothing is said; its variables are taken, not left to workloads."""

import os
import socket
from pathlib import Path

import pytest

from armillary.service.systemd import Notifier


def test_the_variables_are_taken_out_of_the_environment() -> None:
    """Else the launcher would say READY too early, and workloads could speak for us."""
    environment = {
        "NOTIFY_SOCKET": "/run/x",
        "WATCHDOG_USEC": "3000000",
        "WATCHDOG_PID": str(os.getpid()),
        "HOME": "/",
    }
    notifier = Notifier.from_environment(environment)
    assert (notifier.is_enabled, notifier.watchdog_seconds) == (True, 3.0)
    assert environment == {"HOME": "/"}


@pytest.mark.parametrize(
    "environment",
    [{}, {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}, {"WATCHDOG_USEC": "no"}],
    ids=["none", "another-process", "nonsense"],
)
def test_a_watchdog_of_another_process_is_not_ours(environment: dict[str, str]) -> None:
    """systemd names the process it watches."""
    assert Notifier.from_environment(environment).watchdog_seconds is None


def test_a_socket_that_is_gone_is_not_an_error(tmp_path: Path) -> None:
    """A service does not end for lack of a listener."""
    Notifier(str(tmp_path / "gone"), None).ready()


def test_an_abstract_socket_is_understood() -> None:
    """systemd writes its first byte as @."""
    name = f"armillary-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(f"\0{name}")
        listener.settimeout(20)
        Notifier(f"@{name}", None).watchdog()
        assert listener.recv(100) == b"WATCHDOG=1"
