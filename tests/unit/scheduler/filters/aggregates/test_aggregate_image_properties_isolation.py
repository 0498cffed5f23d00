"""Aggregates for images with certain properties."""

import pytest

from scheduler.filters.aggregates.aggregate_image_properties_isolation import (
    AggregateImagePropertiesIsolation,
)
from tests.builders import an_aggregate, an_image
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata


@pytest.mark.parametrize(
    ("properties", "metadata", "passes"),
    [
        ({}, {"os_type": "windows"}, True),
        ({"os_type": "windows"}, {}, True),
        ({"os_type": "windows"}, {"os_type": "windows"}, True),
        ({"os_type": "linux"}, {"os_type": "windows"}, False),
        ({"os_type": "linux"}, {"os_type": "windows, linux"}, True),
        ({"os_type": ""}, {"os_type": "windows"}, True),
        ({"availability_zone": "a"}, {"availability_zone": "b"}, True),
        ({"os_type": "windows", "hw_vm_mode": "hvm"}, {"os_type": "windows", "x": "y"}, True),
    ],
)
def test_a_host_that_is_not_for_other_images_passes(
    properties: dict[str, str], metadata: dict[str, str], passes: bool
) -> None:
    """An image that says nothing may go anywhere, and so may one to a host that says nothing."""
    cluster_metadata = some_cluster_metadata([an_aggregate(hosts=["host1"], metadata=metadata)])
    state = a_table([a_host()], cluster_metadata=cluster_metadata)[0]
    spec = a_request_spec(image=an_image(properties=properties))
    assert AggregateImagePropertiesIsolation(scheduling_conf()).host_passes(state, spec) is passes


def test_a_request_without_an_image_goes_anywhere() -> None:
    """It boots from a volume."""
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata={"os_type": "windows"})]
    )
    state = a_table([a_host()], cluster_metadata=cluster_metadata)[0]
    each = AggregateImagePropertiesIsolation(scheduling_conf())
    assert each.host_passes(state, a_request_spec(image=None))


@pytest.mark.parametrize(
    ("separator", "key", "passes"),
    [(".", "os_type", True), (".", "iso.os_type", False), ("_", "iso.os_type", True),
     ("_", "iso_os_type", False)],
)  # fmt: skip
def test_with_a_namespace_only_its_keys_count(separator: str, key: str, passes: bool) -> None:
    """The image's property has the long name, too."""
    conf = scheduling_conf(
        filter_scheduler__aggregate_image_properties_isolation_namespace="iso",
        filter_scheduler__aggregate_image_properties_isolation_separator=separator,
    )
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata={key: "windows"})]
    )
    state = a_table([a_host()], cluster_metadata=cluster_metadata)[0]
    spec = a_request_spec(image=an_image(properties={key: "linux"}))
    assert AggregateImagePropertiesIsolation(conf).host_passes(state, spec) is passes
