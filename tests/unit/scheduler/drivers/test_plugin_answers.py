"""Reasons, limits and other answers of filters and weighers reach the scheduler's answer."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from objects.request_spec import REBUILD, RequestSpec
from objects.selection import Selection
from tests.builders import a_uuid, an_aggregate, an_image
from tests.fleets import (
    ArrayPlacement,
    a_driver,
    a_fleet,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_cluster_metadata,
)

HOSTS = [a_host("host1", cpu_allocation_ratio=4.0), a_host("host2", cpu_allocation_ratio=2.0)]


def select(
    spec: RequestSpec | None = None, *, placement: ArrayPlacement | None = None, **options: Any
) -> list[Selection]:
    """Return the selection and the alternate for one instance."""
    conf = scheduling_conf(**options)
    slow = an_aggregate(hosts=["host2"], metadata={"disk_allocation_ratio": "0.5"})
    driver = a_driver(
        HOSTS,
        conf=conf,
        fleet=a_fleet(HOSTS, conf=conf, cluster_metadata=some_cluster_metadata([slow])),
        placement=placement or ArrayPlacement(HOSTS),
    )
    found = driver.select_destinations(
        admin_context("req-1"),
        spec or a_request_spec(),
        [a_uuid()],
        fences=[1],
        return_alternates=True,
        dry_run=False,
    )
    (row,) = found.selections()
    return row


def test_the_limits_of_all_filters_are_in_selection_and_alternates() -> None:
    """Each host's own; they go to its agent with the build."""
    enabled = ["RamFilter", "CoreFilter", "AggregateDiskFilter"]
    row = select(filter_scheduler__enabled_filters=enabled)
    limits = {
        each.service_host: (each.limits.memory_mb, each.limits.vcpu, each.limits.disk_gb)
        for each in row
        if each.limits is not None
    }
    # Placement's figures count, by which each ratio is 1; an aggregate's number overrides it.
    assert limits == {"host1": (32768, 16, 500), "host2": (32768, 16, 250)}


@pytest.mark.parametrize(
    ("enabled", "spec"),
    [(["ComputeFilter"], a_request_spec()), (["RamFilter"], a_request_spec(force_hosts=["host1"]))],
    ids=["no filter has any", "forced host"],
)
def test_without_limits_none_are_sent(enabled: list[str], spec: RequestSpec) -> None:
    """The agent then checks nothing."""
    row = select(spec, filter_scheduler__enabled_filters=enabled)
    assert {each.limits for each in row} == {None}


def test_a_required_metric_that_is_missing_ends_the_request_with_its_reason() -> None:
    """NoValidHost, as for any other reason; nothing stays claimed."""
    placement = ArrayPlacement(HOSTS)
    with pytest.raises(exception.NoValidHost) as caught:
        select(placement=placement, metrics__weight_setting=["cpu.percent=-1"])
    assert caught.value.kwargs["reason"].startswith(
        "MetricsWeigher cannot decide: a host does not report cpu.percent"
    )
    assert placement.consumers == {}


def test_with_its_filter_such_hosts_are_left_out() -> None:
    """The sentence counts them."""
    with pytest.raises(exception.NoValidHost, match="does not report") as caught:
        select(
            metrics__weight_setting=["cpu.percent=-1"],
            filter_scheduler__enabled_filters=["MetricsFilter"],
        )
    assert "2" in caught.value.kwargs["reason"]


def test_a_rebuild_check_asks_and_claims_nothing_of_placement() -> None:
    """The answer is the host that was named."""
    placement = ArrayPlacement(HOSTS)
    spec = a_request_spec(image=an_image(), force_hosts=["host2"], check_type=REBUILD)
    (chosen,) = select(spec, placement=placement)
    assert (chosen.service_host, chosen.allocation_request) == ("host2", {})
    assert (placement.queries, placement.claim_calls) == ([], [])


def test_a_rebuild_that_the_host_cannot_run_is_not_a_valid_host() -> None:
    """Although hosts are forced, for which filters are skipped otherwise."""
    image = an_image(properties={"hw_architecture": "s390x"})
    spec = a_request_spec(image=image, force_hosts=["host2"], check_type=REBUILD)
    with pytest.raises(exception.NoValidHost, match="ruled out by ImagePropertiesFilter"):
        select(spec)
