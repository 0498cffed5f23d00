"""A request on its way to another service."""

from objects.base import ArmillaryObject
from objects.request_spec import Destination, RequestSpec, SchedulerLimits
from tests.builders import a_flavor


def test_a_request_arrives_with_all_its_parts() -> None:
    """Those of objects within it, too."""
    sent = RequestSpec.from_values(
        project_id="p",
        user_id="u",
        flavor=a_flavor(),
        requested_destination=Destination.from_values(host="a", allow_cross_cell_move=True),
        limits=SchedulerLimits.from_values(vcpu=4, numa_topology={"cpu_allocation_ratio": 2.0}),
        numa_topology={"cells": []},
        pci_requests=[{"count": 1}],
        requested_networks=[{"network": "n", "remote_managed": True}],
        check_type="rebuild",
    )
    received = ArmillaryObject.obj_from_primitive(sent.obj_to_primitive())
    assert isinstance(received, RequestSpec)
    assert received.to_plain() == sent.to_plain()
