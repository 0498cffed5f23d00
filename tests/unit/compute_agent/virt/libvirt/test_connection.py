"""The library, and a connection that can be lost."""

import logging
import time
import types
from typing import Any

import pytest

from armillary import exception
from compute_agent.virt.libvirt import connection
from compute_agent.virt.libvirt.connection import Connection


class LibvirtError(Exception):
    pass


class Daemon:
    """A library whose daemon goes away and comes back."""

    libvirtError = LibvirtError  # noqa: N815 - it is libvirt's name

    def __init__(self) -> None:
        self.is_up = True
        self.opened = 0

    def open(self, _uri: str) -> Any:
        self.getLibVersion()
        self.opened += 1
        return types.SimpleNamespace(getLibVersion=self.getLibVersion, close=self.getLibVersion)

    def getLibVersion(self) -> int:  # noqa: N802 - and so is this
        if not self.is_up:
            raise LibvirtError("Connection refused")
        return 9_000_000


def test_without_the_library_it_is_said_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "MODULE", "armillary.no_such_module")
    with pytest.raises(exception.ConfigurationError, match=r"pip install 'armillary\[libvirt\]'"):
        connection.load_library()


def test_one_connection_serves_all() -> None:
    daemon = Daemon()
    opened = Connection(daemon, "test")
    assert opened.get() is opened.get()
    assert daemon.opened == 1


def test_a_daemon_that_is_away_is_named_and_found_again() -> None:
    daemon = Daemon()
    opened = Connection(daemon, "test:///x")
    first = opened.get()
    daemon.is_up = False
    with pytest.raises(exception.Unavailable, match="test:///x: Connection refused"):
        opened.get()
    daemon.is_up = True
    assert opened.get() is not first


def test_a_connection_that_was_opened_again_is_not_the_former(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one who used the former has lost it, though the daemon answers."""
    daemon = Daemon()
    opened = Connection(daemon, "test")
    opened.get()
    number = opened.number
    assert not opened.is_lost(number)
    daemon.is_up = False
    assert opened.is_lost(number)
    assert not opened.returns(0.0)
    monkeypatch.setattr(time, "sleep", lambda _seconds: setattr(daemon, "is_up", True))
    assert opened.returns(60.0)
    assert opened.is_lost(number)
    assert not opened.is_lost(opened.number)


def test_an_outage_is_said_once_and_when_it_is_over(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "compute_agent")
    daemon = Daemon()
    opened = Connection(daemon, "test:///x")
    opened.get()
    daemon.is_up = False
    for _ in range(5):
        with pytest.raises(exception.Unavailable):
            opened.get()
    daemon.is_up = True
    opened.get()
    assert [each.levelname for each in caplog.records] == ["WARNING", "INFO"]
