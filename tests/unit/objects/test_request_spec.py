"""A request on its way to older services, and from them."""

from __future__ import annotations

from typing import Any

import pytest

from armillary import exception
from objects.base import ArmillaryObject
from objects.request_spec import Destination, RequestSpec, SchedulerLimits
from tests.builders import a_flavor

_DATA = ArmillaryObject.primitive_key("data")
_VERSION = ArmillaryObject.primitive_key("version")


def a_request(**values: Any) -> RequestSpec:
    return RequestSpec.from_values(
        {"project_id": "p", "user_id": "u", "flavor": a_flavor(), **values},
        requested_destination=Destination.from_values(host="a", allow_cross_cell_move=True),
        limits=SchedulerLimits.from_values(vcpu=4, numa_topology={"cpu_allocation_ratio": 2.0}),
    )


def received(primitive: dict[str, Any]) -> RequestSpec:
    made = ArmillaryObject.obj_from_primitive(primitive)
    assert isinstance(made, RequestSpec)
    return made


def test_a_request_survives_the_way_to_a_service_of_this_version() -> None:
    """With all that it and its parts have had since 1.0."""
    sent = a_request(
        numa_topology={"cells": []},
        pci_requests=[{"count": 1}],
        requested_networks=[{"network": "n", "remote_managed": True}],
        check_type="rebuild",
    )
    assert received(sent.obj_to_primitive()).to_plain() == sent.to_plain()


def test_an_older_service_is_given_the_first_versions_of_all_parts() -> None:
    """It would refuse a newer one, and know nothing of newer fields."""
    data = a_request(requested_networks=[{"network": "n"}]).obj_to_primitive("1.0")[_DATA]
    assert not {"numa_topology", "pci_requests", "requested_networks", "check_type"} & set(data)
    destination, limits = data["requested_destination"], data["limits"]
    assert (destination[_VERSION], limits[_VERSION]) == ("1.0", "1.0")
    assert set(destination[_DATA]) == {"host", "node", "cell_uuid"}
    assert set(limits[_DATA]) == {"memory_mb", "disk_gb", "vcpu"}
    assert limits[_DATA]["vcpu"] == 4


@pytest.mark.parametrize(
    "values",
    [
        {"numa_topology": {"cells": [{"id": 0}]}},
        {"pci_requests": [{"count": 1}]},
        {"check_type": "rebuild"},
        {"requested_networks": [{"network": "n", "remote_managed": True}]},
    ],
    ids=lambda values: next(iter(values)),
)
def test_what_an_older_service_would_do_wrong_is_refused(values: dict[str, Any]) -> None:
    """It would decide without a word about what was asked for."""
    with pytest.raises(exception.Invalid, match=f"{next(iter(values))} cannot be sent.*upgrade"):
        a_request(**values).obj_to_primitive("1.0")


def test_an_older_service_s_request_has_the_defaults_of_newer_fields() -> None:
    """Nobody has to ask whether they are set; they are no changes of its sender."""
    spec = received(a_request().obj_to_primitive("1.0"))
    assert (spec.numa_topology, spec.pci_requests, spec.requested_networks) == (None, [], [])
    assert not spec.is_rebuild_check
    assert spec.requested_destination is not None
    assert spec.requested_destination.allow_cross_cell_move is False
    assert spec.limits is not None
    assert spec.limits.numa_topology is None
    assert spec.obj_what_changed() == set()
