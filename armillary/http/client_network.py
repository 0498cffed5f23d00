"""Identity of a client for limits of connections and logins: its address, or its IPv6 network."""

import functools
import ipaddress

IPV6_PREFIX_LENGTH = 64
"""What one subscriber or machine is given at least (RFC 6177): all its addresses are one client."""


@functools.lru_cache(maxsize=4096)
def client_network(address: str) -> str:
    """Return what limits on one client count: an IPv4 address, or the /64 network of an IPv6 one.

    An address that is none, such as the name of a Unix socket, counts as it stands.
    """
    try:
        given = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(given, ipaddress.IPv4Address):
        return str(given)
    if given.ipv4_mapped is not None:
        return str(given.ipv4_mapped)
    return str(ipaddress.ip_network((given, IPV6_PREFIX_LENGTH), strict=False))
