"""Addresses and URIs of other hosts' libvirt daemons.

Hosts only send their address, never a URI, because libvirt's URIs can name programs to run. URIs
are built from this host's own options.
"""

import re

from oslo_config import cfg

from compute_agent.virt.machine import machine

_ADDRESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9.:_-]{0,253}")


class UnknownPeer(ValueError):
    """The address sent by another host is invalid."""


def own_address(conf: cfg.ConfigOpts) -> str:
    """Return the address at which other hosts reach this host's daemon."""
    return str(conf.libvirt.live_migration_inbound_addr or conf.my_ip or machine.own_address())


def daemon_uri(conf: cfg.ConfigOpts, address: str) -> str:
    """Return the URI of the daemon at an address. Raises UnknownPeer."""
    return _filled(conf.libvirt.live_migration_uri, address)


def data_uri(conf: cfg.ConfigOpts, address: str) -> str:
    """Return the URI for memory and disk transfers. Raises UnknownPeer."""
    return _filled(conf.libvirt.live_migration_data_uri, address)


def _filled(template: str, address: str) -> str:
    if not _ADDRESS.fullmatch(address):
        raise UnknownPeer(f"'{address}' is not a valid host address")
    written = f"[{address}]" if ":" in address else address
    return template.replace("%s", written)
