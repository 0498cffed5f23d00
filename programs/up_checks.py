"""Checks of ``armillary up`` before it makes anything: hosts, ports, and its state directory."""

import contextlib
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.files import private_files
from compute_agent.virt.simulated.simulated_hosts import parse_hosts

LOCK_FILE = "up.lock"
OTHER_PORT = "give another one with --port"


def check_hosts(conf: cfg.ConfigOpts) -> None:
    """Raise ConfigurationError for simulated hosts that cannot be made."""
    parse_hosts(conf.simulated.hosts)


def check_ports(conf: cfg.ConfigOpts) -> None:
    """Raise ConfigurationError if the port of the API or of placement is taken."""
    for name, host, port in (
        ("API", conf.api.bind_host, conf.api.bind_port),
        ("placement", conf.placement.rest_bind_host, conf.placement.rest_bind_port),
    ):
        reason = _refusal(host, port) if port else None
        if reason is not None:
            raise exception.ConfigurationError(
                reason=f"port {port} of {host} cannot be used for the {name}: {reason}; "
                f"{OTHER_PORT}"
            )


@contextlib.contextmanager
def state_directory(path: Path) -> Iterator[None]:
    """Make the directory, and hold it for this process.

    Raises ConfigurationError if it cannot be used, or another process holds it.
    """
    try:
        private_files.make_directory(path)
        file = private_files.lock(path / LOCK_FILE)
    except BlockingIOError as error:
        owner = (path / LOCK_FILE).read_text(errors="replace").strip() or "unknown"
        raise exception.ConfigurationError(
            reason=f"the state directory {path} is used by another 'armillary up' (process "
            f"{owner}); stop that one, or give another directory with --state-dir"
        ) from error
    except OSError as error:
        raise exception.ConfigurationError(
            reason=f"the state directory {path} cannot be used: {error.strerror}; give another one "
            "with --state-dir"
        ) from error
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(file)


def _refusal(host: str, port: int) -> str | None:
    """Return why an address cannot be listened on, None if it can."""
    try:
        family, kind, protocol, _name, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind(address)
    except OSError as error:
        return error.strerror or str(error)
    return None
