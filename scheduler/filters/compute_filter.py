"""Filter by the status of the compute service."""

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable


class ComputeFilter(filters.BaseHostFilter):
    """Pass hosts whose compute service is enabled and up.

    A service is up if its last heartbeat is within ``[DEFAULT] service_down_time`` seconds and it
    was not forced down. If no report from a whole cell arrived for that long, all its hosts count
    as down.
    """

    host_attributes = ("service_up", "service_disabled")

    run_filter_once_per_request = True
    reason_columns = ("service_disabled",)

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        mask: filters.Mask = hosts.service_up & ~hosts.service_disabled
        return mask

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return "its service is disabled" if host_state.service_disabled else "its service is down"
