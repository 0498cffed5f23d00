"""How the libvirt daemons of other hosts are reached: by our own options, never by their word.

An address is all that a host tells of itself. libvirt's URIs can name programs to run, so none is
taken from elsewhere.
"""

from __future__ import annotations

import re

from oslo_config import cfg

from compute_agent.virt import machine

_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}")


class UnknownPeer(ValueError):
    """What another host tells as its address is none."""


def own_address(conf: cfg.ConfigOpts) -> str:
    """Return the address that other hosts reach this one's daemon by."""
    return str(conf.libvirt.live_migration_inbound_addr or conf.my_ip or machine.own_address())


def daemon_uri(conf: cfg.ConfigOpts, address: str) -> str:
    """Return the URI of the daemon at an address. Raises UnknownPeer."""
    return _filled(conf.libvirt.live_migration_uri, address)


def data_uri(conf: cfg.ConfigOpts, address: str) -> str:
    """Return where memory and disks are sent to. Raises UnknownPeer."""
    return _filled(conf.libvirt.live_migration_data_uri, address)


def _filled(template: str, address: str) -> str:
    if not _ADDRESS.fullmatch(address):
        raise UnknownPeer(f"'{address}' is no address of a host")
    written = f"[{address}]" if ":" in address else address
    return template.replace("%s", written)
