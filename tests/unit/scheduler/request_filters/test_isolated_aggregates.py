"""Aggregates that require traits are kept for requests that ask for these."""

import pytest

from scheduler import request_filters
from scheduler.request_filters.isolated_aggregates import IsolatedAggregates
from tests.builders import an_aggregate, an_image
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

PLAIN = an_aggregate("plain", metadata={"trait:CUSTOM_GPU": "forbidden", "ssd": "required"})
GPU = an_aggregate("gpu", metadata={"trait:CUSTOM_GPU": "required"})
BOTH = an_aggregate(
    "both", metadata={"trait:CUSTOM_GPU": "required", "trait:CUSTOM_LICENSE": "required"}
)


@pytest.mark.parametrize(
    ("extra_specs", "properties", "forbidden"),
    [
        ({}, {}, [GPU, BOTH]),
        ({"trait:CUSTOM_GPU": "required"}, {}, [BOTH]),
        ({"trait:CUSTOM_GPU": "forbidden"}, {}, [GPU, BOTH]),
        ({"trait:CUSTOM_GPU": "required"}, {"trait:CUSTOM_LICENSE": "required"}, []),
    ],
    ids=["nothing", "one of two", "forbidden", "all"],
)
def test_all_that_an_aggregate_requires_must_be_asked_for(
    extra_specs: dict[str, str], properties: dict[str, str], forbidden: list[object]
) -> None:
    """By flavor and image together."""
    conf = scheduling_conf(scheduler__enable_isolated_aggregate_filtering=True)
    spec = a_request_spec(extra_specs, image=an_image(properties=properties))
    cluster_metadata = some_cluster_metadata([PLAIN, GPU, BOTH])
    request_filters.apply_all([IsolatedAggregates(conf)], spec, cluster_metadata)
    assert spec.request_level_params is not None
    uuids = [each.uuid for each in (GPU, BOTH) if each in forbidden]
    assert spec.request_level_params.forbidden_aggregates == uuids


def test_aggregates_are_not_kept_unless_configured() -> None:
    """The option is off by default."""
    spec = a_request_spec()
    cluster_metadata = some_cluster_metadata([GPU])
    request_filters.apply_all([IsolatedAggregates(scheduling_conf())], spec, cluster_metadata)
    assert spec.request_level_params is not None
    assert spec.request_level_params.forbidden_aggregates == []
