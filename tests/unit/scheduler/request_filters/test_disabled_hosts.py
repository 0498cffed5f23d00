"""Providers of disabled services are forbidden."""

from scheduler import request_filters
from scheduler.request_filters.disabled_hosts import DisabledHosts
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata


def test_the_trait_of_disabled_services_is_forbidden() -> None:
    """On each request."""
    spec = a_request_spec()
    request_filters.apply_all([DisabledHosts(scheduling_conf())], spec, some_cluster_metadata())
    assert spec.request_level_params is not None
    assert spec.request_level_params.root_forbidden == ["COMPUTE_STATUS_DISABLED"]
