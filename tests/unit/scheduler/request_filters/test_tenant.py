"""A project keeps to the aggregates that are set aside for it."""

from typing import Any

import pytest

from armillary import exception
from scheduler import request_filters
from scheduler.request_filters.tenant import Tenant
from tests.builders import an_aggregate
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

OURS = an_aggregate("ours", metadata={"filter_tenant_id": "p1"})
SHARED = an_aggregate("shared", metadata={"filter_tenant_id": "p2", "filter_tenant_id2": "p1"})
LISTED = an_aggregate("listed", metadata={"filter_tenant_id": "p1,p3"})
PLAIN = an_aggregate("plain", metadata={"owner": "p1"})


def member_of(project: str, **options: Any) -> list[list[str]]:
    spec = a_request_spec(project_id=project)
    conf = scheduling_conf(**{f"scheduler__{name}": value for name, value in options.items()})
    request_filters.apply_all(
        [Tenant(conf)], spec, some_cluster_metadata([OURS, SHARED, LISTED, PLAIN])
    )
    assert spec.request_level_params is not None
    return spec.request_level_params.member_of


def test_projects_are_not_limited_unless_configured() -> None:
    """The option is off by default."""
    assert member_of("p1") == []


def test_a_project_is_limited_to_its_aggregates() -> None:
    """Under any key that begins right, with exactly its id as the value."""
    assert member_of("p1", limit_tenants_to_placement_aggregate=True) == [[OURS.uuid, SHARED.uuid]]


def test_a_project_without_aggregate_may_go_anywhere() -> None:
    """Unless one is required."""
    assert member_of("p3", limit_tenants_to_placement_aggregate=True) == []
    with pytest.raises(exception.RequestFilterFailed, match="project p3"):
        member_of(
            "p3",
            limit_tenants_to_placement_aggregate=True,
            placement_aggregate_required_for_tenants=True,
        )
