"""Only providers of compute services are asked for."""

from scheduler import request_filters
from scheduler.request_filters.owner import Owner
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata


def test_the_root_must_be_of_a_compute_service() -> None:
    """Other services may have providers in the same placement service."""
    spec = a_request_spec()
    request_filters.apply_all([Owner(scheduling_conf())], spec, some_cluster_metadata())
    assert spec.request_level_params is not None
    assert spec.request_level_params.root_required == ["OWNER_NOVA"]
