"""Filter by the network of the host's address."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

import numpy as np

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable

ADDRESS_HINT = "build_near_host_ip"
NETWORK_HINT = "cidr"
NETWORK_DEFAULT = "/24"


class SimpleCIDRAffinityFilter(filters.BaseHostFilter):
    """Pass hosts whose address is in the network given by the hints.

    ``build_near_host_ip`` is an address, ``cidr`` the network around it: a prefix length or a
    netmask, with or without a slash before it (default ``/24``). Without the address all hosts
    pass. If the hints are not a valid network, or a host reports no address, the host does not
    pass.
    """

    host_attributes = ("host_ip",)

    run_filter_once_per_request = True
    reason_columns = ()

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        if not spec.hint(ADDRESS_HINT):
            return np.ones(len(hosts), dtype=np.bool_)
        question = _question(spec)
        answers = {address: question(address) for address in set(hosts.host_ip)}
        return np.fromiter((answers[each] for each in hosts.host_ip), np.bool_, len(hosts))

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"is not in the network {_network_text(spec)}"


def _network_text(spec: RequestSpec) -> str:
    size = next(iter(spec.hint(NETWORK_HINT)), NETWORK_DEFAULT)
    return f"{spec.hint(ADDRESS_HINT)[0]}/{size.removeprefix('/')}"


def _question(spec: RequestSpec) -> Callable[[str], bool]:
    try:
        network = ipaddress.ip_network(_network_text(spec), strict=False)
    except ValueError:
        return lambda _address: False

    def is_inside(address: str) -> bool:
        try:
            return ipaddress.ip_address(address) in network
        except ValueError:
            return False

    return is_inside
