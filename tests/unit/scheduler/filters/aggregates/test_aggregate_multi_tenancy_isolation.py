"""Aggregates for projects."""

import pytest

from scheduler.filters.aggregates.aggregate_multi_tenancy_isolation import (
    AggregateMultiTenancyIsolation,
)
from tests.builders import an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata


@pytest.mark.parametrize(
    ("metadata", "passes"),
    [
        ({}, True),
        ({"filter_tenant_id": "p1"}, True),
        ({"filter_tenant_id": "p2"}, False),
        ({"filter_tenant_id": "p2, p1"}, True),
        ({"filter_tenant_id": "p2", "filter_tenant_id3": "p1"}, True),
        ({"other": "p2"}, True),
    ],
    ids=["none", "own", "other", "list", "suffix", "another key"],
)
def test_a_host_for_the_project_passes(metadata: dict[str, str], passes: bool) -> None:
    """All keys with the prefix count; a host that is kept for no tenant is for all."""
    cluster_metadata = some_cluster_metadata([an_aggregate(hosts=["host1"], metadata=metadata)])
    state = a_table([a_host()], cluster_metadata=cluster_metadata)[0]
    spec = a_request_spec(project_id="p1")
    assert AggregateMultiTenancyIsolation(scheduling_conf()).host_passes(state, spec) is passes


def test_a_host_outside_the_aggregate_is_for_all() -> None:
    """The project is not kept inside."""
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata={"filter_tenant_id": "p1"})]
    )
    state = a_table([a_host("host2")], cluster_metadata=cluster_metadata)[0]
    each = AggregateMultiTenancyIsolation(scheduling_conf())
    assert each.host_passes(state, a_request_spec(project_id="p1"))
