"""Inventories over REST: bounds, and that a refused write leaves nothing."""

from typing import Any

import pytest

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail

MAX = 2**31 - 1
DEFAULTS = {
    "reserved": 0, "min_unit": 1, "max_unit": MAX, "step_size": 1, "allocation_ratio": 1.0
}  # fmt: skip

BAD_FIGURES: dict[str, dict[str, Any]] = {
    "no-total": {"reserved": 1},
    "total-0": {"total": 0},
    "total-negative": {"total": -1},
    "total-too-large": {"total": MAX + 1},
    "total-huge": {"total": 10**400},
    "total-true": {"total": True},
    "total-fraction": {"total": 1.5},
    "total-text": {"total": "8"},
    "total-null": {"total": None},
    "total-list": {"total": [8]},
    "reserved-negative": {"total": 8, "reserved": -1},
    "reserved-false": {"total": 8, "reserved": False},
    "min_unit-0": {"total": 8, "min_unit": 0},
    "max_unit-0": {"total": 8, "max_unit": 0},
    "max_unit-too-large": {"total": 8, "max_unit": MAX + 1},
    "step_size-0": {"total": 8, "step_size": 0},
    "step_size-null": {"total": 8, "step_size": None},
    "ratio-negative": {"total": 8, "allocation_ratio": -0.5},
    "ratio-too-large": {"total": 8, "allocation_ratio": 3.5e38},
    "ratio-huge": {"total": 8, "allocation_ratio": 10**400},
    "ratio-true": {"total": 8, "allocation_ratio": True},
    "ratio-text": {"total": 8, "allocation_ratio": "1.0"},
    "unknown-field": {"total": 8, "used": 3},
    "more-reserved-than-there-is": {"total": 8, "reserved": 9},
}
each_bad_figure = pytest.mark.parametrize("figures", BAD_FIGURES.values(), ids=list(BAD_FIGURES))


@pytest.fixture
def path(engine: PlacementEngine) -> str:
    """Return the path of the inventories of a provider of 8 vCPUs, of generation 1."""
    report = a_provider()
    engine.providers.set_providers([report])
    return f"/resource_providers/{report['uuid']}/inventories"


def totals(api: PlacementApi, path: str) -> tuple[int, dict[str, int]]:
    """Return what a provider has, and its generation."""
    body = api.get(path).json
    inventories = {name: item["total"] for name, item in body["inventories"].items()}
    return body["resource_provider_generation"], inventories


def test_figures_that_are_not_sent_have_defaults(api: PlacementApi, path: str) -> None:
    """Whichever way an inventory is written, and even over one with others."""
    answer = api.post(path, {"resource_class": "DISK_GB", "total": 10})
    assert answer.status_code == 201
    assert answer.json == {"resource_provider_generation": 2, "total": 10, **DEFAULTS}
    figures = {"total": 10, "reserved": 1, "max_unit": 5, "allocation_ratio": 2}
    one = f"{path}/DISK_GB"
    answer = api.put(one, {"resource_provider_generation": 2, **figures})
    assert answer.json == {"resource_provider_generation": 3, **DEFAULTS, **figures}
    answer = api.put(one, {"resource_provider_generation": 3, "total": 10})
    assert answer.json == {"resource_provider_generation": 4, "total": 10, **DEFAULTS}
    body = {"resource_provider_generation": 4, "inventories": {"VCPU": {"total": 2}}}
    answer = api.put(path, body)
    assert answer.json == {
        "resource_provider_generation": 5,
        "inventories": {"VCPU": {"total": 2, **DEFAULTS}},
    }
    assert api.get(path).json == answer.json


def test_the_bounds_themselves_are_allowed(api: PlacementApi, path: str) -> None:
    """Large figures come back as they were sent."""
    figures = {
        "total": MAX, "reserved": MAX, "min_unit": MAX, "max_unit": MAX, "step_size": MAX,
        "allocation_ratio": 3.40282e38,
    }  # fmt: skip
    body = {"resource_provider_generation": 1, "inventories": {"VCPU": figures}}
    assert api.put(path, body).status_code == 200
    assert api.get(f"{path}/VCPU").json == {"resource_provider_generation": 2, **figures}


@each_bad_figure
def test_bad_figures_are_refused_with_their_name(
    api: PlacementApi, path: str, figures: dict[str, Any]
) -> None:
    """By each of the three ways to write them; good ones beside them are not kept either."""
    many = {
        "resource_provider_generation": 1,
        "inventories": {"DISK_GB": {"total": 1}, "MEMORY_MB": figures},
    }
    answers = [
        api.post(path, {"resource_class": "MEMORY_MB", **figures}),
        api.put(f"{path}/VCPU", {"resource_provider_generation": 1, **figures}),
        api.put(path, many),
    ]
    field = list(figures)[-1] if "total" in figures else "total"
    for answer in answers:
        assert answer.status_code == 400
        assert field in detail(answer)
    assert totals(api, path) == (1, {"VCPU": 8})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_ratio_is_a_number_that_can_be_stored(api: PlacementApi, path: str, number: str) -> None:
    """What JSON does not have, Python would read."""
    sent = f'{{"resource_class": "DISK_GB", "total": 1, "allocation_ratio": {number}}}'
    headers = {"Content-Type": "application/json"}
    assert api.send("POST", path, body=sent, headers=headers).status_code == 400
    assert totals(api, path) == (1, {"VCPU": 8})


@pytest.mark.parametrize(
    "generation", ["1", None, True, 1.5, [1]], ids=["text", "null", "true", "fraction", "list"]
)
def test_a_generation_is_an_integer(api: PlacementApi, path: str, generation: Any) -> None:
    """Nothing that only looks like one."""
    body = {"resource_provider_generation": generation, "inventories": {}}
    assert api.put(path, body).status_code == 400
    body = {"resource_provider_generation": generation, "total": 3}
    assert api.put(f"{path}/VCPU", body).status_code == 400
    assert totals(api, path) == (1, {"VCPU": 8})


def test_a_generation_of_any_size_is_compared(api: PlacementApi, path: str) -> None:
    """It never reaches the database."""
    body = {"resource_provider_generation": 10**300, "inventories": {}}
    answer = api.put(path, body)
    assert (answer.status_code, check_error(answer)["code"]) == (409, "placement.concurrent_update")


@pytest.mark.parametrize(
    "name", ["vcpu", "VCPU ", "", "☃", "X" * 256, "CUSTOM_UNMADE", "HOUSE"],
    ids=["lower", "space", "empty", "snowman", "long", "unmade", "unknown"],
)  # fmt: skip
def test_there_must_be_such_a_class(api: PlacementApi, path: str, name: str) -> None:
    """400, as it stands in the body; good ones beside it are not kept."""
    many = {"DISK_GB": {"total": 1}, name: {"total": 1}}
    body = {"resource_provider_generation": 1, "inventories": many}
    assert api.put(path, body).status_code == 400
    assert api.post(path, {"resource_class": name, "total": 1}).status_code == 400
    assert totals(api, path) == (1, {"VCPU": 8})


@pytest.mark.parametrize(
    ("name", "status"),
    [("vcpu", 404), ("%E2%98%83", 404), ("X" * 250, 404), ("DISK_GB", 400), ("%27", 404)],
    ids=["lower", "snowman", "long", "other", "quote"],
)
def test_a_class_in_the_path_that_is_not_there(
    api: PlacementApi, path: str, name: str, status: int
) -> None:
    """404; to write one that exists, which the provider lacks, is the body's mistake by the API."""
    one = f"{path}/{name}"
    assert api.get(one).status_code == 404
    assert api.delete(one).status_code == 404
    body = {"resource_provider_generation": 1, "total": 1}
    assert api.put(one, body).status_code == status
    assert totals(api, path) == (1, {"VCPU": 8})


def test_what_is_not_there_comes_before_what_is_wrong(api: PlacementApi) -> None:
    """A provider that does not exist is 404, whatever the body says."""
    nowhere = f"/resource_providers/{a_uuid()}"
    for path in (nowhere, f"{nowhere}/inventories", f"{nowhere}/inventories/VCPU"):
        assert api.put(path, {"wrong": 1}).status_code == 404
    assert api.post(f"{nowhere}/inventories", {"wrong": 1}).status_code == 404


def test_an_old_generation_comes_before_what_does_not_fit(api: PlacementApi, path: str) -> None:
    """409 for more reserved than there is, by a client that has to read again anyway."""
    wrong = {"total": 1, "reserved": 2}
    for generation, status in ((0, 409), (1, 400)):
        body = {"resource_provider_generation": generation}
        assert api.put(path, {**body, "inventories": {"VCPU": wrong}}).status_code == status
        assert api.put(f"{path}/VCPU", {**body, **wrong}).status_code == status


def test_a_whole_number_may_have_a_fraction_of_zero(api: PlacementApi, path: str) -> None:
    """As in JSON schema; it is kept as an integer."""
    body = {"resource_provider_generation": 1.0, "inventories": {"VCPU": {"total": 3.0}}}
    stored = api.put(path, body).json["inventories"]["VCPU"]["total"]
    assert (stored, type(stored)) == (3, int)


def test_a_class_of_255_characters_can_be_had(api: PlacementApi, path: str) -> None:
    """The longest there is."""
    name = "CUSTOM_" + "X" * 248
    assert api.put(f"/resource_classes/{name}").status_code == 201
    assert api.post(path, {"resource_class": name, "total": 1}).status_code == 201
    assert api.get(f"{path}/{name}").json["total"] == 1
    assert api.delete(f"{path}/{name}").status_code == 204


@pytest.mark.parametrize("version", ["1.25", "1.26"])
def test_all_of_it_may_be_reserved_since_1_26(api: PlacementApi, path: str, version: str) -> None:
    """Before, that was refused; whichever way it is written."""
    full = {"total": 4, "reserved": 4}
    status = 400 if version == "1.25" else 201
    body = {"resource_class": "DISK_GB", **full}
    assert api.post(path, body, version=version).status_code == status
    generation = api.get(path).json["resource_provider_generation"]
    answer = api.put(
        f"{path}/VCPU", {"resource_provider_generation": generation, **full}, version=version
    )
    assert answer.status_code == (400 if version == "1.25" else 200)


def test_what_is_used_stays_and_says_why(
    api: PlacementApi, engine: PlacementEngine, path: str
) -> None:
    """With the code that clients look at, from 1.23 on."""
    provider = path.split("/")[2]
    engine.claims.claim([a_claim(provider, 3)])
    for version, code in (("1.22", None), ("1.23", "placement.inventory.inuse")):
        for one in (path, f"{path}/VCPU"):
            answer = api.delete(one, version=version)
            assert (answer.status_code, check_error(answer).get("code")) == (409, code)


def test_an_inventory_is_created_once(api: PlacementApi, path: str) -> None:
    """The second writer is told that another one was faster."""
    answer = api.post(path, {"resource_class": "VCPU", "total": 1})
    assert (answer.status_code, check_error(answer)["code"]) == (409, "placement.concurrent_update")
    assert totals(api, path) == (1, {"VCPU": 8})


def test_errors_are_not_hidden_behind_the_provider(api: PlacementApi) -> None:
    """A provider that is not there is 404 for each method."""
    path = "/resource_providers/7260669a-e3d4-4867-aaa7-683e2ab6958c/inventories"
    one = {"resource_provider_generation": 1, "total": 1}
    assert api.get(path).status_code == 404
    assert api.post(path, {"resource_class": "VCPU", "total": 1}).status_code == 404
    body = {"resource_provider_generation": 1, "inventories": {}}
    assert api.put(path, body).status_code == 404
    assert api.put(f"{path}/VCPU", one).status_code == 404
    assert api.delete(f"{path}/VCPU").status_code == 404
    assert api.delete(path).status_code == 404
