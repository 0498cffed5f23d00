"""Extra specs: set, changed, deleted, one by one or several."""

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor

PATH = "/v2.1/flavors/small/os-extra_specs"


@pytest.fixture(autouse=True)
def flavor(conductor: SuperConductor) -> None:
    conductor.flavors = [builders.a_flavor("small", extra_specs={"a": "1", "b": "2"})]


def test_specs_are_listed_and_shown(api: Api) -> None:
    """To everybody."""
    assert api.get(PATH, token=MEMBER).json == {"extra_specs": {"a": "1", "b": "2"}}
    assert api.get(f"{PATH}/a", token=MEMBER).json == {"a": "1"}


def test_new_specs_join_the_old(api: Api, conductor: SuperConductor) -> None:
    """Those not named stay."""
    answer = api.post(PATH, {"extra_specs": {"b": "3", "trait:CUSTOM_X": "required"}})
    assert answer.json == {"extra_specs": {"b": "3", "trait:CUSTOM_X": "required"}}
    assert conductor.flavors[0].extra_specs == {"a": "1", "b": "3", "trait:CUSTOM_X": "required"}


def test_one_spec_is_changed(api: Api, conductor: SuperConductor) -> None:
    """By its path."""
    assert api.put(f"{PATH}/a", {"a": "9"}).json == {"a": "9"}
    assert conductor.flavors[0].extra_specs == {"a": "9", "b": "2"}


def test_one_spec_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Once."""
    assert api.delete(f"{PATH}/a").status_code == 200
    assert conductor.flavors[0].extra_specs == {"b": "2"}
    assert api.delete(f"{PATH}/a").status_code == 404


@pytest.mark.parametrize("path", [f"{PATH}/z", "/v2.1/flavors/huge/os-extra_specs"])
def test_what_is_not_there_is_404(path: str, api: Api) -> None:
    """A spec or its flavor."""
    assert api.get(path).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"b": "1"}, "b"),
        ({}, "body"),
        ({"a": True}, "a"),
        ({"a": "1", "b": "2"}, "body"),
        ({"a": "x" * 256}, "a"),
    ],
    ids=["another-key", "nothing", "boolean", "two", "long"],
)
def test_a_change_must_be_of_the_one_in_the_path(
    body: dict[str, Any], field: str, api: Api, conductor: SuperConductor
) -> None:
    """A text, not too long."""
    answer = api.put(f"{PATH}/a", body)
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert conductor.flavors[0].extra_specs == {"a": "1", "b": "2"}


@pytest.mark.parametrize("specs", [{"a/b": "1"}, {"a": None}, [], "a"], ids=str)
def test_bad_specs_are_refused(specs: Any, api: Api) -> None:
    """Keys are used in paths."""
    answer = api.post(PATH, {"extra_specs": specs})
    assert answer.status_code == 400
    assert "field/attribute extra_specs" in message(answer)


MISTAKES = [
    ("resources:VCPUS", "1", "Unknown resource class VCPUS"),
    ("resources1:VCPU", "-1", "whole number from 0"),
    ("resources_a.b:VCPU", "1", "A group suffix"),
    ("trait:HW_CPU_X86_FLY", "required", "Unknown trait"),
    ("trait_A:CUSTOM_A", "perhaps", "one of required, forbidden"),
    ("group_policy", "strict", "one of none, isolate"),
    ("same_subtree", "_A,,", "suffixes of groups"),
    ("capabilities:vcpus_total", ">=", "needs an operand"),
    ("aggregate_instance_extra_specs:ssd", "<= few", "must be a number"),
    ("hw:cpu_policy", "pinned", "one of shared, dedicated, mixed"),
    ("hw:numa_nodes", "0", "whole number from 1"),
    ("hw:numa_cpus.0", "a-b", "list CPUs"),
    ("hw:numa_mem.1", "1.5", "whole number from 1"),
    ("hw:mem_page_size", "huge", "small, large, any"),
    ("hw:pmem", "6 GB", "list labels"),
    ("hw:mem_encryption", "perhaps", "true or false"),
    ("pci_passthrough:alias", "gpu", "aliases with counts"),
    ("os:secure_boot", "true", "one of required"),
    ("hw:cpu_polciy", "dedicated", "did you mean hw:cpu_policy"),
    ("resource:VCPU", "2", "did you mean resources:VCPU"),
]


@pytest.mark.parametrize(("key", "value", "rule"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_a_value_that_cannot_be_right_is_refused_by_its_key(
    key: str, value: str, rule: str, api: Api, conductor: SuperConductor
) -> None:
    """One by one or several; nothing is stored."""
    several = api.post(PATH, {"extra_specs": {"c": "3", key: value}})
    one = api.put(f"{PATH}/{key}", {key: value})
    assert (several.status_code, one.status_code) == (400, 400)
    assert f"field/attribute extra_specs.{key}. Value: {value}." in message(several)
    assert f"field/attribute {key}. Value: {value}." in message(one)
    assert rule in message(several)
    assert conductor.flavors[0].extra_specs == {"a": "1", "b": "2"}


def test_cells_that_no_server_could_have_are_refused_together(
    api: Api, conductor: SuperConductor
) -> None:
    """The flavor has one vCPU; it is not said while they are set one by one."""
    answer = api.post(PATH, {"extra_specs": {"hw:numa_nodes": "2"}})
    assert answer.status_code == 400
    assert "field/attribute extra_specs.hw:numa_nodes. Value: 2." in message(answer)
    assert api.put(f"{PATH}/hw:numa_nodes", {"hw:numa_nodes": "2"}).status_code == 200


def test_unknown_keys_are_kept(api: Api, conductor: SuperConductor) -> None:
    """They may be for a plugin."""
    specs = {"colour": ">= blue", "hw:new": "?", "acme:x": "<in>"}
    assert api.post(PATH, {"extra_specs": specs}).status_code == 200
