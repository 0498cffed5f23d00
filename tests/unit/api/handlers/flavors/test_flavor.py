"""Flavors: made, listed, shown, deleted."""

from __future__ import annotations

from typing import Any

import pytest

from tests import builders
from tests.fixtures.http_api import MEMBER, Api, message
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

PATH = "/v2.1/flavors"
WANTED = {"name": "big", "vcpus": 8, "ram": 16384, "disk": 100}


def test_a_flavor_is_made_and_found_again(api: Api) -> None:
    """What was asked for is what is shown."""
    more = {
        "id": "7", "swap": 512, "OS-FLV-EXT-DATA:ephemeral": 10, "description": "for databases",
        "rxtx_factor": 1.0, "os-flavor-access:is_public": True,
    }  # fmt: skip
    made = api.post(PATH, {"flavor": {**WANTED, **more}}).json["flavor"]
    assert {**WANTED, **more}.items() <= made.items()
    assert made["extra_specs"] == {}
    assert api.get(f"{PATH}/7", token=MEMBER).json["flavor"] == made
    assert api.get(f"{PATH}/big", token=MEMBER).json["flavor"] == made


@pytest.mark.parametrize("more", [{}, {"id": None}, {"id": "auto"}], ids=str)
def test_an_id_is_made_up_where_none_is_given(more: dict[str, Any], api: Api) -> None:
    """By the super conductor."""
    made = api.post(PATH, {"flavor": {**WANTED, **more}}).json["flavor"]
    assert len(made["id"]) == 36


def test_a_second_one_of_that_name_is_a_conflict(api: Api) -> None:
    """The message says what exists."""
    api.post(PATH, {"flavor": WANTED})
    answer = api.post(PATH, {"flavor": WANTED})
    assert answer.status_code == 409
    assert message(answer) == "Flavor with name big already exists."


BAD = [
    ({"name": ""}, "flavor.name"),
    ({"name": "x" * 256}, "flavor.name"),
    ({"vcpus": 0}, "flavor.vcpus"),
    ({"vcpus": -1}, "flavor.vcpus"),
    ({"vcpus": 2**31}, "flavor.vcpus"),
    ({"vcpus": "eight"}, "flavor.vcpus"),
    ({"ram": 0}, "flavor.ram"),
    ({"disk": -1}, "flavor.disk"),
    ({"swap": ""}, "flavor.swap"),
    ({"OS-FLV-EXT-DATA:ephemeral": -1}, "flavor.OS-FLV-EXT-DATA:ephemeral"),
    ({"id": "a/b"}, "flavor.id"),
    ({"id": ""}, "flavor.id"),
    ({"rxtx_factor": 2.0}, "flavor.rxtx_factor"),
    ({"os-flavor-access:is_public": False}, "flavor.os-flavor-access:is_public"),
    ({"description": 7}, "flavor.description"),
    ({"gpus": 1}, "flavor.gpus"),
]


@pytest.mark.parametrize(("more", "field"), BAD, ids=[str(m)[:40] for m, _ in BAD])
def test_a_bad_flavor_names_its_field(
    more: dict[str, Any], field: str, api: Api, client: SuperConductorClient
) -> None:
    """And nothing is stored."""
    answer = api.post(PATH, {"flavor": {**WANTED, **more}})
    assert answer.status_code == 400
    assert f"field/attribute {field}." in message(answer)
    assert client.calls == []


@pytest.mark.parametrize("missing", sorted(WANTED))
def test_a_size_must_be_whole(missing: str, api: Api) -> None:
    """There are no defaults for what a flavor is about."""
    wanted = {name: value for name, value in WANTED.items() if name != missing}
    answer = api.post(PATH, {"flavor": wanted})
    assert message(answer) == f"Invalid input for field/attribute flavor.{missing}. It is required"


def test_flavors_are_listed_in_pages(api: Api, conductor: SuperConductor) -> None:
    """Short or long."""
    conductor.flavors = [builders.a_flavor(name) for name in ("a", "b", "c")]
    first = api.get(PATH, limit="2").json
    assert [flavor["name"] for flavor in first["flavors"]] == ["a", "b"]
    assert "marker=id-b" in first["flavors_links"][0]["href"]
    last = api.get(f"{PATH}/detail", limit="2", marker="id-b").json
    assert [flavor["vcpus"] for flavor in last["flavors"]] == [1]
    assert "flavors_links" not in last


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"minRam": "1024"}, ["big"]),
        ({"minDisk": "2"}, ["big"]),
        ({"minDisk": "1", "is_public": "None"}, ["big", "small"]),
        ({"minRam": "999999"}, []),
    ],
    ids=str,
)
def test_flavors_are_filtered_by_size(
    query: dict[str, str], names: list[str], api: Api, conductor: SuperConductor
) -> None:
    """At least so much."""
    big = builders.a_flavor("big", memory_mb=1024, root_gb=2)
    conductor.flavors = [builders.a_flavor("small"), big]
    assert [flavor["name"] for flavor in api.get(PATH, **query).json["flavors"]] == names


@pytest.mark.parametrize("query", [{"minRam": "-1"}, {"is_public": "no"}, {"sort": "x"}], ids=str)
def test_a_bad_filter_is_refused(query: dict[str, str], api: Api) -> None:
    """And named."""
    answer = api.get(PATH, **query)
    assert answer.status_code == 400
    assert f"field/attribute {next(iter(query))}." in message(answer)


def test_a_flavor_is_deleted(api: Api, conductor: SuperConductor) -> None:
    """Once."""
    conductor.flavors = [builders.a_flavor("small")]
    assert api.delete(f"{PATH}/small").status_code == 202
    assert api.delete(f"{PATH}/small").status_code == 404
