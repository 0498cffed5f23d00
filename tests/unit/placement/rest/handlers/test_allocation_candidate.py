"""Allocation candidates over REST, and why there are none."""

import pytest

from placement.engine import PlacementEngine
from placement.providers.inventory import Inventory
from tests.builders import a_provider, a_uuid
from tests.fixtures.placement.placement_rest import PlacementApi, detail

CANDIDATES = "/allocation_candidates"
EXPLANATION = "/allocation_candidates/explanation"


@pytest.fixture
def host(engine: PlacementEngine) -> str:
    """Return the UUID of a host of 8 vCPUs, with a device below it."""
    report = a_provider("host1", traits=["HW_CPU_X86_AVX"])
    engine.providers.set_providers([report])
    device = a_uuid()
    engine.resource_providers.create(device, "host1_gpu", report["uuid"])
    engine.inventories.set_all(device, 0, {"VGPU": Inventory(2, 0, 1, 2, 1, 1.0)})
    return str(report["uuid"])


def test_candidates_name_providers_and_sum_them_up(api: PlacementApi, host: str) -> None:
    """All in one answer, which is not to be kept."""
    result = api.get(f"{CANDIDATES}?resources=VCPU:2&required=HW_CPU_X86_AVX")
    assert result.headers["cache-control"] == "no-cache"
    assert "last-modified" in result.headers
    assert result.json["allocation_requests"] == [
        {"allocations": {host: {"resources": {"VCPU": 2}}}, "mappings": {"": [host]}}
    ]
    summaries = result.json["provider_summaries"]
    assert len(summaries) == 2
    assert summaries[host] == {
        "resources": {"VCPU": {"capacity": 8, "used": 0}},
        "traits": ["HW_CPU_X86_AVX"],
        "parent_provider_uuid": None,
        "root_provider_uuid": host,
    }


def test_groups_are_served_by_different_providers_of_a_tree(api: PlacementApi, host: str) -> None:
    """Mappings tell which one serves which."""
    path = f"{CANDIDATES}?resources=VCPU:1&resources_GPU=VGPU:1"
    (request,) = api.get(path).json["allocation_requests"]
    (device,) = request["mappings"]["_GPU"]
    assert request["mappings"][""] == [host]
    assert request["allocations"][device] == {"resources": {"VGPU": 1}}


@pytest.mark.parametrize(("version", "count"), [("1.28", 0), ("1.29", 1)], ids=["flat", "nested"])
def test_providers_of_a_tree_are_combined_since_1_29(
    api: PlacementApi, host: str, version: str, count: int
) -> None:
    """Older clients know no trees."""
    result = api.get(f"{CANDIDATES}?resources=VCPU:1,VGPU:1", version=version)
    assert len(result.json["allocation_requests"]) == count


@pytest.mark.parametrize(
    ("version", "query", "status", "words"),
    [
        ("1.9", "resources=VCPU:1", 404, ""),
        ("1.10", "", 400, "'resources' is a required property"),
        ("1.15", "resources=VCPU:1&limit=5", 400, "'limit' was unexpected"),
        ("1.16", "resources=VCPU:1&limit=cow", 400, "Failed validating 'pattern'"),
        ("1.24", "resources=VCPU:1&resources1=VCPU:1", 400, "'resources1' was unexpected"),
        ("1.25", "resources01=VCPU:1", 400, "'resources01' does not match any of the regexes"),
        ("1.33", "resources1@=VCPU:1", 400, "^member_of([a-zA-Z0-9_-]{1,64})?$"),
        ("1.34", "resources=VCPU:1&root_required=X", 400, "'root_required' does not match any"),
        ("1.35", "resources=VCPU:1&same_subtree=1", 400, "'same_subtree' does not match any"),
        ("1.39", "resources=MCPU:1", 400, "Invalid resource class in resources parameter"),
        ("1.39", "resources=CUSTOM_NONE:1", 400, "No such resource class CUSTOM_NONE"),
        ("1.39", "resources=VCPU:1&required=in:HW_NONE,HW_NO", 400, "trait(s): HW_NO, HW_NONE"),
        ("1.39", "resources=VCPU:1&root_required=!CUSTOM_NO", 400, "No such trait(s): CUSTOM_NO"),
        ("1.39", "resources=VCPU:99999999999999999", 400, "the amount of VCPU must be from 1 to"),
    ],
    ids=str,
)
@pytest.mark.parametrize("path", [CANDIDATES, EXPLANATION], ids=["candidates", "explanation"])
def test_what_is_wrong_is_refused(
    api: PlacementApi, path: str, version: str, query: str, status: int, words: str
) -> None:
    """By the rules of the microversion, for the answer as for the explanation."""
    result = api.get(f"{path}?{query}", version=version)
    assert result.status_code == status
    assert words in detail(result)


def test_the_explanation_says_what_is_short_and_where(api: PlacementApi, host: str) -> None:
    """In one sentence, and as data."""
    result = api.get(f"{EXPLANATION}?resources=VCPU:12&resources_GPU=VGPU:3")
    assert result.json["sentence"] == ("The only provider lacks VCPU: 12 asked, 8 free at most.")
    assert (result.json["has_candidates"], result.json["providers_total"]) == (False, 1)
    unsuffixed, suffixed = result.json["groups"]
    assert unsuffixed["parts"] == [
        {"kind": "resource", "name": "VCPU", "count": 1, "asked": 12, "best": 8}
    ]
    assert unsuffixed["nearest"] == [
        {
            "provider": {"uuid": host, "name": "host1", "root_provider_uuid": host},
            "lacks": [{"kind": "resource", "name": "VCPU", "asked": 12, "free": 8, "short": 4}],
        }
    ]
    assert suffixed["nearest"][0]["provider"]["name"] == "host1_gpu"
    assert suffixed["nearest"][0]["lacks"][0]["short"] == 1


def test_the_explanation_of_an_answer_says_how_many_are_left(
    api: PlacementApi, engine: PlacementEngine, host: str
) -> None:
    """And what is against the others."""
    engine.providers.set_providers([a_provider("host2")])
    result = api.get(f"{EXPLANATION}?resources=VCPU:1&required=HW_CPU_X86_AVX")
    assert result.json["sentence"] == (
        "1 of 2 providers may serve this; the other one lacks HW_CPU_X86_AVX."
    )


def test_the_explanation_of_an_empty_placement_says_so(api: PlacementApi) -> None:
    """There is nothing to lack anything."""
    result = api.get(f"{EXPLANATION}?resources=VCPU:1")
    assert result.json["sentence"] == "No provider has an inventory."


@pytest.mark.parametrize("path", [CANDIDATES, EXPLANATION])
def test_others_than_administrators_and_services_are_refused(api: PlacementApi, path: str) -> None:
    """The answer is about all of the fleet."""
    assert api.get(f"{path}?resources=VCPU:1", token="somebody").status_code == 403
