"""Request filters edit the decision's own spec, in their order."""

import pytest

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.plugins.loading import PluginFailed
from scheduler.request_filters import BaseRequestFilter
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata


class RaisingFilter(BaseRequestFilter):
    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        raise KeyError("colour")


class RefusingFilter(BaseRequestFilter):
    def apply(self, spec: RequestSpec, cluster_metadata: ClusterMetadata) -> None:
        raise exception.RequestFilterFailed(reason="not today")


def test_the_default_request_filters_are_loaded() -> None:
    """In the order in which the options name them."""
    found = request_filters.load_request_filters(scheduling_conf())
    assert [type(each).__name__ for each in found] == [
        "Tenant",
        "AvailabilityZone",
        "ImageTypeSupport",
        "DisabledHosts",
        "IsolatedAggregates",
        "ImageMetadata",
        "Accelerators",
        "PackedVirtqueue",
        "RoutedNetworks",
        "RemoteManagedPorts",
        "EphemeralEncryption",
        "VirtioSound",
        "TPMSecretSecurity",
        "Owner",
    ]


def test_a_refusal_is_passed_on() -> None:
    """It is an answer."""
    each = RefusingFilter(scheduling_conf())
    with pytest.raises(exception.RequestFilterFailed, match="not today"):
        request_filters.apply_all([each], a_request_spec(), some_cluster_metadata())


def test_a_broken_request_filter_is_named() -> None:
    """It is none."""
    each = RaisingFilter(scheduling_conf())
    with pytest.raises(PluginFailed, match="RaisingFilter failed: KeyError: 'colour'"):
        request_filters.apply_all([each], a_request_spec(), some_cluster_metadata())
