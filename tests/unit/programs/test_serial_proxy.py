"""``armillary-serialproxy`` as an operator starts it."""

import logging
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary.consoles.serial_proxy import SerialProxy
from programs import EXIT_CONFIGURATION, serial_proxy


@pytest.fixture(autouse=True)
def kept_handlers() -> Iterator[None]:
    """Give this process its signal handlers back."""
    kept = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in kept.items():
        signal.signal(number, handler)


def close(proxy: SerialProxy) -> None:
    """End a proxy that has not begun to serve."""
    server = proxy._server
    for each in (server.socket, server.shutdown_watcher, server.shutdown_notifier):
        each.close()


@pytest.mark.parametrize("networks", [[], ["--agent-network", "192.0.2.0/24"]], ids=len)
def test_a_proxy_that_connects_to_any_address_warns(
    networks: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As the key of an agent is enough to choose it."""
    monkeypatch.setattr(SerialProxy, "run", close)
    key = str(tmp_path / "key")
    assert serial_proxy.main(["--make-key", key]) == 0
    with caplog.at_level(logging.WARNING):
        assert serial_proxy.main(["--key-file", key, "--port", "0", *networks]) == 0
    assert ("any address" in caplog.text) is (not networks)


def test_a_key_that_cannot_be_used_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code is that of a mistake in the configuration."""
    (tmp_path / "key").write_text("short\n")
    ended = serial_proxy.main(["--key-file", str(tmp_path / "key"), "--port", "0"])
    assert (ended, "cannot be used" in capsys.readouterr().err) == (EXIT_CONFIGURATION, True)
