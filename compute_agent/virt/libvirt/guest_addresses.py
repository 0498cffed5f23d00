"""IP addresses of a running guest: by leases, by its own agent, else by the ARP table."""

import ipaddress
import logging
from collections.abc import Iterator
from typing import Any

from armillary.names.identifiers import mac_address
from compute_agent.virt.libvirt.domain import xml_text

LOG = logging.getLogger(__name__)

_CONNECTED = "./devices/channel/target[@name='org.qemu.guest_agent.0'][@state='connected']"
AGENT_SECONDS_MAX = 5
"""How long a guest's agent may take to answer; without a limit a stuck one would be waited for."""


def find(library: Any, domain: Any) -> list[str]:
    """Return the addresses of a guest's own interface; those of its host's network first.

    Addresses that are valid on one link only are left out.
    """
    leases = _of_source(library, domain, library.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_LEASE)
    found = dict.fromkeys((*leases, *_of_agent(library, domain)))
    if not found:
        arp = library.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_ARP
        found = dict.fromkeys(_of_source(library, domain, arp))
    return list(found)


def _of_agent(library: Any, domain: Any) -> list[str]:
    """Return what QEMU's agent in the guest says; nothing unless it is connected."""
    if xml_text.parse(domain.XMLDesc(0)).find(_CONNECTED) is None:
        return []
    domain.agentSetResponseTimeout(AGENT_SECONDS_MAX, 0)
    try:
        return list(_of_source(library, domain, library.VIR_DOMAIN_INTERFACE_ADDRESSES_SRC_AGENT))
    finally:
        domain.agentSetResponseTimeout(library.VIR_DOMAIN_AGENT_RESPONSE_TIMEOUT_BLOCK, 0)


def _of_source(library: Any, domain: Any, source: int) -> Iterator[str]:
    try:
        interfaces = domain.interfaceAddresses(source, 0)
    except library.libvirtError as error:
        LOG.debug("%s: no addresses from source %d: %s", domain.UUIDString(), source, error)
        return
    own = mac_address(domain.UUIDString())
    for interface in interfaces.values():
        if interface.get("hwaddr") != own:
            continue
        for each in interface.get("addrs") or ():
            address = ipaddress.ip_address(each["addr"])
            if not address.is_link_local:
                yield str(address)
