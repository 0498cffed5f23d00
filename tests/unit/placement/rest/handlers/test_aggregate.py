"""The aggregates of a provider over REST: what the request files of the API do not ask."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.builders import a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi, check_error

AGGREGATES = [f"c0ffee00-0000-4000-8000-{number:012}" for number in range(3)]


@pytest.fixture
def path(api: PlacementApi) -> str:
    """Return the path of the aggregates of a new provider."""
    uuid = api.post("/resource_providers", {"name": "host1"}).json["uuid"]
    return f"/resource_providers/{uuid}/aggregates"


def wanted(aggregates: Any, generation: Any = 0) -> dict[str, Any]:
    return {"aggregates": aggregates, "resource_provider_generation": generation}


def test_the_bare_list_of_old_versions_has_no_generation(api: PlacementApi, path: str) -> None:
    """It is not asked for, shown or counted."""
    for version in ("1.1", "1.18"):
        result = api.put(path, AGGREGATES, version=version)
        assert result.json == {"aggregates": AGGREGATES}
    assert api.get(path, version="1.18").json == {"aggregates": AGGREGATES}
    assert api.get(path, version="1.19").json == wanted(AGGREGATES, 0)


def test_an_aggregate_is_kept_in_one_spelling(api: PlacementApi, path: str) -> None:
    """Named twice in different ones it is still one."""
    spellings = [AGGREGATES[0], AGGREGATES[0].upper(), AGGREGATES[0].replace("-", "")]
    assert api.put(path, wanted(spellings)).json == wanted(AGGREGATES[:1], 1)


@pytest.mark.parametrize(
    "body",
    [
        wanted(None),
        wanted("host1"),
        wanted(["host1"]),
        wanted([7]),
        wanted([AGGREGATES[0]] * 2),
        wanted([], None),
        wanted([], "0"),
        wanted([], 0.5),
        wanted([], True),
        {**wanted([]), "more": 1},
        [],
    ],
    ids=str,
)
def test_a_bad_body_is_refused(api: PlacementApi, path: str, body: Any) -> None:
    """And nothing is written."""
    assert api.put(path, body).status_code == 400
    assert api.get(path).json == wanted([], 0)


@pytest.mark.parametrize("generation", [-1, 1, 10**30])
def test_another_generation_is_a_conflict(api: PlacementApi, path: str, generation: int) -> None:
    """However far away."""
    result = api.put(path, wanted(AGGREGATES, generation))
    assert result.status_code == 409
    assert check_error(result)["code"] == "placement.concurrent_update"
    assert api.get(path).json == wanted([], 0)


def test_of_many_writers_on_one_generation_one_succeeds(api: PlacementApi, path: str) -> None:
    """The others read again."""
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda uuid: api.put(path, wanted([uuid])), AGGREGATES))
    assert sorted(result.status_code for result in answers) == [200, 409, 409]
    (winner,) = [result for result in answers if result.status_code == 200]
    assert api.get(path).json == winner.json


def test_a_provider_that_is_not_there_has_no_aggregates(api: PlacementApi) -> None:
    """It is looked for before the body is looked at."""
    path = f"/resource_providers/{a_uuid()}/aggregates"
    for answer in (api.get(path), api.put(path, "nonsense")):
        assert answer.status_code == 404
