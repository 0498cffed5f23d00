"""Imports for filters, weighers, request filters and scheduler drivers of third parties."""

from armillary.context import RequestContext
from armillary.exception import NoValidHost, RequestFilterFailed, UnsupportedPolicy
from objects.aggregate import Aggregate
from objects.allocations.allocation_candidates import AllocationRequest
from objects.destinations import Destinations
from objects.request_spec import RequestLevelParams, RequestSpec, SchedulerLimits
from scheduler.drivers.base import SchedulerDriver
from scheduler.explain.trace import TraceBuilder
from scheduler.filters import BaseHostFilter, per_distinct
from scheduler.hosts.aggregate_metadata import NumberOverride
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable, Mask, Numbers
from scheduler.hosts.store.host_store import HostStore
from scheduler.plugins.loading import CannotDecide
from scheduler.pools.weigher import PoolWeigher
from scheduler.request.scheduling_request import SchedulingRequest
from scheduler.request_filters import BaseRequestFilter
from scheduler.selection.responses import destinations, no_valid_host
from scheduler.weights import BaseHostWeigher

__all__ = [
    "Aggregate", "AllocationRequest", "BaseHostFilter", "BaseHostWeigher", "BaseRequestFilter",
    "CannotDecide", "ClusterMetadata", "Destinations", "HostState", "HostStore", "HostTable",
    "Mask", "NoValidHost", "NumberOverride", "Numbers", "PoolWeigher", "RequestContext",
    "RequestFilterFailed", "RequestLevelParams", "RequestSpec", "SchedulerDriver",
    "SchedulerLimits", "SchedulingRequest", "TraceBuilder", "UnsupportedPolicy",
    "destinations", "no_valid_host", "per_distinct",
]  # fmt: skip
