"""Limits: quotas and usage in one flat answer."""

from tests import builders
from tests.fixtures.http_api import MEMBER, Api
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/limits"


def test_a_project_sees_limits_and_usage(api: Api, conductor: SuperConductor) -> None:
    """Under the names of the Compute API."""
    conductor.servers = [builders.an_instance(project_id="p1")]
    limits = api.get(PATH, token=MEMBER).json["limits"]
    assert limits == {
        "rate": [],
        "absolute": {
            "maxTotalInstances": 10,
            "maxTotalCores": 20,
            "maxTotalRAMSize": 51200,
            "maxServerGroups": 10,
            "maxServerGroupMembers": 10,
            "maxServerMeta": 128,
            "maxTotalKeypairs": 100,
            "totalInstancesUsed": 1,
            "totalCoresUsed": 0,
            "totalRAMUsed": 0,
            "totalServerGroupsUsed": 0,
        },
    }


def test_other_projects_are_for_administrators(api: Api) -> None:
    """One may name one's own."""
    assert api.get(PATH, token=MEMBER, tenant_id="p1").status_code == 200
    assert api.get(PATH, token=MEMBER, tenant_id="p2").status_code == 403
    assert api.get(PATH, tenant_id="p2").status_code == 200
