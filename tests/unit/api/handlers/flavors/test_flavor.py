"""Flavors: made, listed, shown, deleted."""

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
        "rxtx_factor": 2.5, "os-flavor-access:is_public": True,
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
    ({"rxtx_factor": 0}, "flavor.rxtx_factor"),
    ({"rxtx_factor": "fast"}, "flavor.rxtx_factor"),
    ({"os-flavor-access:is_public": "perhaps"}, "flavor.os-flavor-access:is_public"),
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
        ({"sort_key": "memory_mb", "sort_dir": "asc"}, ["small", "big"]),
        ({"sort_key": "memory_mb", "sort_dir": "desc"}, ["big", "small"]),
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


@pytest.mark.parametrize(
    "query", [{"minRam": "-1"}, {"is_public": "perhaps"}, {"sort_key": "x"}], ids=str
)
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


def test_a_private_flavor_is_for_those_who_were_given_it(
    api: Api, conductor: SuperConductor
) -> None:
    """Others do not see it, nor can they use it; administrators list it if they ask."""
    private = {**WANTED, "id": "p", "os-flavor-access:is_public": False}
    api.post(PATH, {"flavor": private})
    conductor.flavors.append(builders.a_flavor("small"))

    def names(token: str | None, **query: str) -> list[str]:
        return [each["name"] for each in api.get(PATH, token=token, **query).json["flavors"]]

    assert names(MEMBER, is_public="none") == names(None) == ["small"]
    assert (names(None, is_public="false"), names(None, is_public="none")) == (
        ["big"], ["small", "big"],
    )  # fmt: skip
    assert api.get(f"{PATH}/p", token=MEMBER).status_code == 404
    server = {"server": {"name": "web", "flavorRef": "p"}}
    assert api.post("/v2.1/servers", server, token=MEMBER).status_code == 400
    p1 = {"tenant": "p1"}
    given = api.post(f"{PATH}/p/action", {"addTenantAccess": p1})
    assert given.json == {"flavor_access": [{"flavor_id": "p", "tenant_id": "p1"}]}
    assert api.get(f"{PATH}/p/os-flavor-access").json == given.json
    assert names(MEMBER) == ["small", "big"]
    assert api.post("/v2.1/servers", server, token=MEMBER).status_code == 202
    refused = [
        api.post(f"{PATH}/p/action", {"addTenantAccess": p1}).status_code,
        api.post(f"{PATH}/id-small/action", {"addTenantAccess": p1}).status_code,
        api.get(f"{PATH}/id-small/os-flavor-access").status_code,
        api.post(f"{PATH}/p/action", {"removeTenantAccess": p1}, token=MEMBER).status_code,
    ]
    assert refused == [409, 409, 404, 403]
    assert api.post(f"{PATH}/p/action", {"removeTenantAccess": p1}).json == {"flavor_access": []}
    assert api.post(f"{PATH}/p/action", {"removeTenantAccess": p1}).status_code == 404
    assert names(MEMBER) == ["small"]


def test_a_flavor_is_described(api: Api, conductor: SuperConductor) -> None:
    """Later, and not any more."""
    conductor.flavors = [builders.a_flavor("small")]
    for text in ("for tests", None):
        body = {"flavor": {"description": text}}
        assert api.put(f"{PATH}/id-small", body).json["flavor"]["description"] == text
    assert api.put(f"{PATH}/id-small", {"flavor": {"name": "x"}}).status_code == 400
