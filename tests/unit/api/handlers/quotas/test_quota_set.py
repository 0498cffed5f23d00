"""Quotas: a project sees its own, administrators set them."""

from typing import Any

import pytest

from conductor.super_conductor.accept.quotas import OF_FILES, UNCOUNTED
from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.records.server_records import DEFAULT_QUOTAS
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/os-quota-sets/p1"
DEFAULTS = {
    name: limit for name, limit in DEFAULT_QUOTAS.items() if name not in {*UNCOUNTED, *OF_FILES}
}
OLD = {"OpenStack-API-Version": "compute 2.1"}


def test_a_project_sees_its_quotas(api: Api) -> None:
    """Those of no other project."""
    assert api.get(PATH, token=MEMBER).json["quota_set"] == {"id": "p1", **DEFAULTS}
    assert api.get(PATH, token="u2:p2").status_code == 403


def test_details_have_what_is_used(api: Api, conductor: SuperConductor) -> None:
    """Nothing is ever reserved: a request is counted immediately."""
    conductor.servers = [builders.an_instance(project_id="p1")]
    quotas = api.get(f"{PATH}/detail", token=MEMBER).json["quota_set"]
    assert quotas["instances"] == {"limit": 10, "in_use": 1, "reserved": 0}


def test_set_quotas_are_shown_and_defaults_stay(api: Api) -> None:
    """Only those that were named."""
    changed = api.put(PATH, {"quota_set": {"instances": 7, "cores": -1}}).json["quota_set"]
    assert changed == {**DEFAULTS, "instances": 7, "cores": -1}
    assert api.get(PATH).json["quota_set"] == {"id": "p1", **changed}
    assert api.get(f"{PATH}/defaults").json["quota_set"] == {"id": "p1", **DEFAULTS}


def test_a_number_may_be_a_text(api: Api) -> None:
    """Clients send both."""
    assert api.put(PATH, {"quota_set": {"instances": "7"}}).json["quota_set"]["instances"] == 7


@pytest.mark.parametrize(
    ("quotas", "field"),
    [
        ({}, "quota_set"),
        ({"instances": -2}, "quota_set.instances"),
        ({"instances": 2**31}, "quota_set.instances"),
        ({"instances": "seven"}, "quota_set.instances"),
        ({"volumes": 7}, "quota_set.volumes"),
    ],
    ids=str,
)
def test_bad_quotas_name_their_field(
    quotas: dict[str, Any], field: str, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is set."""
    answer = api.put(PATH, {"quota_set": quotas})
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


def test_a_quota_is_not_set_below_what_is_used_unless_forced(
    api: Api, conductor: SuperConductor
) -> None:
    """And is reset to the defaults."""
    conductor.servers = [builders.an_instance(project_id="p1") for _ in range(2)]
    refused = api.put(PATH, {"quota_set": {"instances": 1}})
    assert (refused.status_code, "2 are in use" in message(refused)) == (400, True)
    assert api.put(PATH, {"quota_set": {"instances": 1, "force": "true"}}).status_code == 200
    assert api.delete(PATH, token=MEMBER).status_code == 403
    assert api.delete(PATH).status_code == 202
    assert api.get(PATH).json["quota_set"] == {"id": "p1", **DEFAULTS}


def test_defaults_are_set_as_those_of_a_class(api: Api) -> None:
    """For every project without its own; also those that nothing counts against."""
    place = "/v2.1/os-quota-class-sets/default"
    wanted = {"cores": 30, "floating_ips": 7, "injected_files": 2}
    answer = api.send("PUT", place, headers=OLD, json={"quota_class_set": wanted})
    assert wanted.items() <= answer.json["quota_class_set"].items()
    shown = api.send("GET", PATH, headers=OLD).json["quota_set"]
    assert wanted.items() <= shown.items()
    assert api.put(place, {"quota_class_set": {"floating_ips": 7}}).status_code == 400
    other = api.put("/v2.1/os-quota-class-sets/gold", {"quota_class_set": {"cores": 7}})
    assert other.status_code == 400
