"""Allocations: for audits, in pages."""

from tests import builders
from tests.fixtures.http_api import Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/armillary/allocations"


def test_allocations_come_in_pages_with_totals(api: Api, conductor: SuperConductor) -> None:
    """The marker is a consumer."""
    conductor.allocations = [
        {"consumer_uuid": builders.a_uuid(), "resources": {"VCPU": n}} for n in range(3)
    ]
    first = api.get(PATH, limit="2").json
    assert [allocation["resources"]["VCPU"] for allocation in first["allocations"]] == [0, 1]
    assert first["totals"]["consumers"] == 3
    marker = first["allocations_links"][0]["href"].rpartition("marker=")[2]
    last = api.get(PATH, limit="2", marker=marker).json
    assert [allocation["resources"]["VCPU"] for allocation in last["allocations"]] == [2]
    assert "allocations_links" not in last
