"""Resource providers over REST: what the request files of the API do not ask."""

import datetime as dt
from email.utils import parsedate_to_datetime
from typing import Any

import pytest
from oslo_config import cfg

from placement.engine import PlacementEngine
from tests.builders import a_claim, a_provider, a_uuid
from tests.fixtures.placement import NewEngine
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail

PATH = "/resource_providers"
UUID = "c0ffee00-0000-4000-8000-00000000000a"
NOON = dt.datetime(2030, 1, 1, 12)


def made(api: PlacementApi, name: str, **values: Any) -> dict[str, Any]:
    result = api.post(PATH, {"name": name, **values})
    assert result.status_code == 200, result.text
    return dict(result.json)


def listed(api: PlacementApi, query: str = "", **more: Any) -> list[str]:
    result = api.get(f"{PATH}{query}", **more)
    assert result.status_code == 200, result.text
    return [item["name"] for item in result.json["resource_providers"]]


# Making and showing -------------------------------------------------------------------------------


def test_a_provider_without_a_uuid_gets_one(api: PlacementApi) -> None:
    """The header says where it is."""
    result = api.post(PATH, {"name": "host1"})
    assert result.headers["location"].endswith(f"{PATH}/{result.json['uuid']}")
    assert api.get(f"{PATH}/{result.json['uuid']}").json == result.json


@pytest.mark.parametrize("spelling", [UUID.upper(), UUID.replace("-", "")], ids=["upper", "bare"])
def test_a_uuid_is_kept_in_one_spelling(api: PlacementApi, spelling: str) -> None:
    """In lower case with hyphens, wherever it came in another one."""
    assert made(api, "root", uuid=spelling)["uuid"] == UUID
    child = made(api, "child", parent_provider_uuid=spelling)
    assert child["root_provider_uuid"] == UUID
    assert listed(api, f"?uuid={spelling}") == ["root"]
    assert listed(api, f"?in_tree={spelling}") == ["root", "child"]


@pytest.mark.parametrize(
    "name", ["", "n" * 201, "two\nlines", "\x07", "half \ud800", 7, None, ["n"]], ids=ascii
)
def test_a_bad_name_is_refused(api: PlacementApi, name: Any) -> None:
    """Of a new provider as of an old one, and nothing is written."""
    uuid = made(api, "n" * 200)["uuid"]
    for result in (api.post(PATH, {"name": name}), api.put(f"{PATH}/{uuid}", {"name": name})):
        assert result.status_code == 400, result.text
    assert listed(api) == ["n" * 200]


@pytest.mark.parametrize(
    "body",
    [
        {"uuid": UUID},
        {"name": "a", "uuid": "host1"},
        {"name": "a", "uuid": None},
        {"name": "a", "generation": 0},
        {"name": "a", "parent_provider_uuid": "host1"},
        {"name": "a", "parent_provider_uuid": 7},
        ["a"],
        "a",
        None,
    ],
    ids=str,
)
def test_a_bad_body_is_refused(api: PlacementApi, body: Any) -> None:
    """With one sentence, and nothing is made."""
    result = api.send("POST", PATH, headers={"Content-Type": "application/json"}, json=body)
    assert result.status_code == 400
    assert listed(api) == []


@pytest.mark.parametrize("uuid", ["host1", UUID.upper(), UUID.replace("-", ""), "%00", "%ff"])
def test_a_path_without_a_provider_is_not_found(api: PlacementApi, uuid: str) -> None:
    """Whatever it says."""
    made(api, "host1", uuid=UUID)
    path = f"{PATH}/{uuid}"
    answers = [api.get(path), api.delete(path), api.put(path, {"name": "a"})]
    assert [result.status_code for result in answers] == [404, 404, 404]


@pytest.mark.parametrize(("version", "has_tree"), [("1.13", False), ("1.14", True)])
def test_trees_are_shown_from_their_version_on(
    api: PlacementApi, version: str, has_tree: bool
) -> None:
    """One by one and in lists."""
    path = f"{PATH}/{made(api, 'host1')['uuid']}"
    one = api.get(path, version=version).json
    (other,) = api.get(PATH, version=version).json["resource_providers"]
    assert one == other
    assert {"root_provider_uuid", "parent_provider_uuid"} & one.keys() == (
        {"root_provider_uuid", "parent_provider_uuid"} if has_tree else set()
    )


def test_the_time_of_a_provider_is_that_of_its_last_change(
    conf: cfg.ConfigOpts, new_engine: NewEngine
) -> None:
    """A list is as new as the newest in it."""
    times = iter(NOON + dt.timedelta(hours=hour) for hour in range(9))
    api = PlacementApi(conf, new_engine(clock=lambda: next(times)))
    uuids = [made(api, name)["uuid"] for name in "ab"]
    api.put(f"{PATH}/{uuids[0]}", {"name": "c"})
    paths = [f"{PATH}/{uuids[0]}", f"{PATH}/{uuids[1]}", PATH]
    seen = [parsedate_to_datetime(api.get(path).headers["last-modified"]) for path in paths]
    assert [time.hour - NOON.hour for time in seen] == [2, 1, 2]


# Changing -----------------------------------------------------------------------------------------


def test_a_parent_that_is_not_named_stays(api: PlacementApi) -> None:
    """Null is a name that no provider has."""
    root = made(api, "root")
    path = f"{PATH}/{made(api, 'child', parent_provider_uuid=root['uuid'])['uuid']}"
    assert api.put(path, {"name": "heir"}).json["parent_provider_uuid"] == root["uuid"]
    orphan = {"name": "heir", "parent_provider_uuid": None}
    assert api.put(path, orphan).json["parent_provider_uuid"] is None


def test_a_refused_change_leaves_nothing_behind(api: PlacementApi) -> None:
    """Neither the name, when the parent is wrong, nor the parent, when the name is."""
    root, child = made(api, "root"), made(api, "child")
    path = f"{PATH}/{child['uuid']}"
    wrong_parent = api.put(path, {"name": "heir", "parent_provider_uuid": a_uuid()})
    wrong_name = api.put(path, {"name": "root", "parent_provider_uuid": root["uuid"]})
    assert (wrong_parent.status_code, wrong_name.status_code) == (400, 409)
    assert api.get(path).json == child


# Deleting -----------------------------------------------------------------------------------------


def test_a_provider_in_use_is_not_deleted(api: PlacementApi, engine: PlacementEngine) -> None:
    """The code tells it from a parent."""
    report = a_provider()
    engine.providers.set_providers([report])
    engine.claims.claim([a_claim(report["uuid"])])
    result = api.delete(f"{PATH}/{report['uuid']}")
    assert result.status_code == 409
    assert check_error(result)["code"] == "placement.resource_provider.inuse"


# Lists --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "since"),
    [
        (f"member_of={UUID}", 3),
        ("resources=VCPU:1", 4),
        (f"in_tree={UUID}", 14),
        ("required=HW_CPU_X86_AVX", 18),
        ("required=!HW_CPU_X86_AVX", 22),
        (f"member_of={UUID}&member_of={UUID}", 24),
        (f"member_of=!{UUID}", 32),
        ("required=in:HW_CPU_X86_AVX,HW_CPU_X86_AVX2", 39),
    ],
)
def test_a_filter_is_known_from_its_version_on(api: PlacementApi, query: str, since: int) -> None:
    """And refused before."""
    versions = [f"1.{since - 1}", f"1.{since}", "1.39"]
    answers = [api.get(f"{PATH}?{query}", version=version) for version in versions]
    assert [result.status_code for result in answers] == [400, 200, 200]


@pytest.mark.parametrize(
    "query",
    [
        "uuid=host1",
        "in_tree=host1",
        "in_tree=",
        "member_of=",
        "member_of=in:",
        f"member_of={UUID},{UUID}",
        "resources=VCPU:1,VCPU",
        "resources=VCPU:0",
        "resources=VCPU:1.5",
        "resources=CUSTOM_NOT_MADE:1",
        "required=CUSTOM_NOT_MADE",
        "required=in:",
        "required=!",
        "limit=1",
        "name=%00",
    ],
)
def test_a_filter_that_makes_no_sense_is_refused(api: PlacementApi, query: str) -> None:
    """With a sentence about it."""
    result = api.get(f"{PATH}?{query}")
    assert result.status_code == 400
    assert detail(result)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"resources=VCPU:{10**25}", []),
        ("resources=VCPU:8", ["a"]),
        ("name=&required=CUSTOM_A,!CUSTOM_B", ["a"]),
        ("name=a&name=b", ["b"]),
        ("name=none%0a", []),
        ("required=CUSTOM_A,!CUSTOM_B", ["a"]),
        ("required=CUSTOM_A&required=CUSTOM_B", ["b"]),
        ("required=CUSTOM_A,!CUSTOM_A", []),
    ],
)
def test_filters_narrow_a_list(
    api: PlacementApi, engine: PlacementEngine, query: str, expected: list[str]
) -> None:
    """Also to none at all."""
    small = {"VCPU": {"total": 4}}
    engine.providers.set_providers(
        [
            a_provider("a", traits=["CUSTOM_A"]),
            a_provider("b", traits=["CUSTOM_A", "CUSTOM_B"], inventories=small),
        ]
    )
    assert listed(api, f"?{query}") == expected
