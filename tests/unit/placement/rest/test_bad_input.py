"""Whatever a client sends wrong, it is told what, and nothing is changed."""

import copy
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fixtures.placement import engines
from tests.fixtures.placement.placement_fuzz_world import (
    CLASSES,
    CONSUMERS,
    PROVIDERS,
    make_familiar_things,
)
from tests.fixtures.placement.placement_rest import PlacementApi, check_error, detail, rest_conf
from tests.fixtures.plugins.sampling import sample

PROVIDER, OTHER = PROVIDERS[0], PROVIDERS[2]
OF_PROVIDER = f"/resource_providers/{PROVIDER}"
JSON = {"Content-Type": "application/json", "X-Roles": "admin,service"}
DEEP = 10_000

FIGURES = {
    "total": 16, "reserved": 0, "min_unit": 1, "max_unit": 16, "step_size": 1,
    "allocation_ratio": 1.5,
}  # fmt: skip
INVENTORIES = {"resource_provider_generation": 2, "inventories": {"VCPU": FIGURES}}
ALLOCATION = {
    "allocations": {OTHER: {"generation": 2, "resources": {"VCPU": 1}}},
    "project_id": "p1",
    "user_id": "u1",
    "consumer_generation": 1,
    "consumer_type": "INSTANCE",
    "mappings": {"": [OTHER]},
}
LISTED = {
    "allocations": [{"resource_provider": {"uuid": OTHER}, "resources": {"VCPU": 1}}],
    "project_id": "p1",
    "user_id": "u1",
}

# Method, path, version, a body that is taken.
SOUND: dict[str, tuple[str, str, str, Any]] = {
    "new provider": (
        "POST", "/resource_providers", "1.39",
        {"name": "new", "uuid": CONSUMERS[0], "parent_provider_uuid": PROVIDER},
    ),
    "provider": (
        "PUT", OF_PROVIDER, "1.39", {"name": "other name", "parent_provider_uuid": None},
    ),
    "aggregates": (
        "PUT", f"{OF_PROVIDER}/aggregates", "1.39",
        {"aggregates": [CONSUMERS[0]], "resource_provider_generation": 2},
    ),
    "aggregates before 1.19": ("PUT", f"{OF_PROVIDER}/aggregates", "1.18", [CONSUMERS[0]]),
    "inventories": ("PUT", f"{OF_PROVIDER}/inventories", "1.39", INVENTORIES),
    "new inventory": (
        "POST", f"{OF_PROVIDER}/inventories", "1.39", {"resource_class": "DISK_GB", **FIGURES},
    ),
    "inventory": (
        "PUT", f"{OF_PROVIDER}/inventories/VCPU", "1.39",
        {"resource_provider_generation": 2, **FIGURES},
    ),
    "resource class": ("POST", "/resource_classes", "1.39", {"name": "CUSTOM_NEW"}),
    "renamed resource class": (
        "PUT", "/resource_classes/CUSTOM_GOLD", "1.6", {"name": "CUSTOM_NEW"},
    ),
    "traits": (
        "PUT", f"{OF_PROVIDER}/traits", "1.39",
        {"traits": ["CUSTOM_FAST"], "resource_provider_generation": 2},
    ),
    "allocations": ("PUT", f"/allocations/{CONSUMERS[0]}", "1.39", ALLOCATION),
    "allocations before 1.12": ("PUT", f"/allocations/{CONSUMERS[0]}", "1.8", LISTED),
    "many allocations": ("POST", "/allocations", "1.39", {CONSUMERS[0]: ALLOCATION}),
    "reshaper": (
        "POST", "/reshaper", "1.39",
        {"inventories": {PROVIDER: INVENTORIES}, "allocations": {CONSUMERS[0]: ALLOCATION}},
    ),
}  # fmt: skip

EVERY = 8
"""Of so many wrong values one is sent in each run."""
WRONG: list[Any] = [None, True, "", "\n", -(10**30), 10**400, 1.5, [], [[]], {}, {"a": 1}]


@pytest.fixture(scope="module")
def placement_template(placement_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a SQLite file with familiar things, which each test copies."""
    folder = tmp_path_factory.mktemp("familiar")
    path = Path(shutil.copy(placement_template, folder))
    with engines(f"sqlite:///{path}") as new_engine:
        make_familiar_things(PlacementApi(rest_conf(folder), new_engine()))
    return path


def send(api: PlacementApi, name: str, body: bytes) -> Any:
    method, path, version, _ = SOUND[name]
    return api.send(method, path, version=version, body=body, headers=JSON)


def state(api: PlacementApi) -> Any:
    """Return all that the writes could have changed."""
    parts = ("", "/inventories", "/traits", "/aggregates", "/allocations")
    paths = [f"/resource_providers/{uuid}{part}" for uuid in (PROVIDER, OTHER) for part in parts]
    return [api.get(path).json for path in [*paths, "/resource_providers", "/resource_classes"]]


def places(body: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield where in a body there is anything."""
    yield path
    for key, value in body.items() if isinstance(body, dict) else enumerate(body):
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def replaced(body: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.deepcopy(body)
    holder = changed
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return changed


def is_of_another_type(old: Any, new: Any) -> bool:
    """Return whether one cannot be taken for the other."""
    if old is None or isinstance(old, str):
        return not isinstance(new, str | None)
    if isinstance(old, float):
        return not isinstance(new, float)
    return type(old) is not type(new) and not (isinstance(old, int) and new is None)


@pytest.mark.parametrize("name", SOUND)
def test_what_is_taken_as_it_is(api: PlacementApi, name: str) -> None:
    """Else the tests below would prove nothing."""
    before = state(api)
    assert send(api, name, json.dumps(SOUND[name][3]).encode()).status_code < 300
    assert state(api) != before


@pytest.mark.parametrize("name", SOUND)
def test_a_value_of_a_wrong_type_is_named(api: PlacementApi, name: str) -> None:
    """In every place of every body, by some values in each run; nothing is written."""
    body = SOUND[name][3]
    before = state(api)
    for path in places(body):
        old = body
        for key in path:
            old = old[key]
        for wrong in sample(WRONG, EVERY, f"{name} {path}"):
            if is_of_another_type(old, wrong):
                result = send(api, name, json.dumps(replaced(body, path, wrong)).encode())
                assert result.status_code == 400, (path, wrong, result.text)
                where = "".join(f"{part}." for part in path).rstrip(".")
                assert where in detail(result), (path, wrong)
    assert state(api) == before


def _at(body: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        body = body[key]
    return body


def objects(body: Any) -> list[tuple[Any, ...]]:
    """Return where in a body there are objects."""
    return [path for path in places({"": body}) if path and isinstance(_at({"": body}, path), dict)]


@pytest.mark.parametrize("name", [name for name, request in SOUND.items() if objects(request[3])])
def test_an_unknown_field_is_named(api: PlacementApi, name: str) -> None:
    """It may be a misspelt one."""
    body = SOUND[name][3]
    for path in objects(body):
        wrong = {**_at({"": body}, path), "wrong\u2603": 1}
        result = send(api, name, json.dumps(replaced({"": body}, path, wrong)[""]).encode())
        assert result.status_code == 400, path
        assert "wrong" in detail(result)


NO_JSON = {
    "nothing": (b"", "Expecting value"),
    "half": (b'{"name": ', "Expecting value"),
    "two": (b'{"name": "a"} {}', "Extra data"),
    "a word": (b"nul", "Expecting value"),
    "a byte order mark": (b'\xef\xbb\xbf{"name": "a"}', "BOM"),
    "utf-16": ('{"name": "a"}'.encode("utf-16"), "utf-8"),
    "bad utf-8": (b'{"name": "\xff"}', "utf-8"),
    "a surrogate in utf-8": (b'{"name": "\xed\xa0\x80"}', "utf-8"),
    "a NUL": (b'{"name": "a\x00"}', "control character"),
    "an escaped NUL": (b'{"name": "a\\u0000"}', "at 'name'"),
    "a lone surrogate": (b'{"name": "\\udc00"}', "at 'name'"),
    "half a pair in a name": (b'{"\\ud800": "a"}', "the name of a field"),
    "NaN": (b'{"name": NaN}', "'name'"),
    "Infinity": (b'{"name": -Infinity}', "'name'"),
    "too large a float": (b'{"name": {"a": [1e999]}}', "'name.a.0'"),
    "endless digits": (b'{"name": ' + b"9" * 10_000 + b"}", "'name'"),
    "a field twice": (b'{"name": "a", "name": "b"}', "duplicate field 'name'"),
    "an inner field twice": (b'{"name": {"x": 1, "y": 2, "x": 1}}', "duplicate field 'x'"),
    "deep lists": (b"[" * DEEP + b"]" * DEEP, "deeper than 32"),
    "deep objects": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, "deeper than 32"),
    "33 levels": (b"[" * 33 + b"]" * 33, "deeper than 32"),
}


@pytest.mark.parametrize(("body", "reason"), NO_JSON.values(), ids=NO_JSON)
def test_what_is_not_json_of_ours_is_refused(api: PlacementApi, body: bytes, reason: str) -> None:
    """With the place, where there is one."""
    result = send(api, "new provider", body)
    assert result.status_code == 400
    assert detail(result).startswith("Malformed JSON: ")
    assert reason in detail(result)


def test_half_a_body_is_refused_even_if_it_is_json(api: PlacementApi) -> None:
    """The other half may have said otherwise."""
    headers = {**JSON, "Content-Length": "100"}
    result = api.send("POST", "/resource_providers", body=b'{"name": "a"}', headers=headers)
    assert result.status_code == 400
    assert "13 of 100 bytes" in detail(result)


def test_large_bodies_are_refused_in_time_that_grows_with_them(api: PlacementApi) -> None:
    """A comparison of each with each would take hours here."""
    many = [{}, 1] * 100_000
    assert send(api, "aggregates before 1.19", json.dumps(many).encode()).status_code == 400


BAD_QUERIES = {
    "bad utf-8": ("name=%ff", "'name' contains"),
    "a surrogate": ("name=%ed%a0%80", "'name' contains"),
    "bad utf-8 in a name": ("%ff=1", "not UTF-8"),
    "a NUL": ("name=%00", "'name' contains a NUL"),
    "a NUL in a name": ("name%00=1", r"'name\x00' contains a NUL"),
    "too many": ("&".join(["name=a"] * 1001), "at most 1000"),
    "an unknown one": ("nmae=a", "'nmae' was unexpected"),
    "an amount of 9000 digits": (f"resources=VCPU:{'9' * 9000}", "resource VCPU"),
    "an amount in other digits": ("resources=VCPU:%D9%A3", "resource VCPU"),
    "no amount": ("resources=VCPU", "resources parameter"),
    "no UUID": ("uuid=1", "field uuid"),
    "no UUID of a tree": ("in_tree=", "field in_tree"),
    "no trait": ("required=!", "'required'"),
    "no aggregate": ("member_of=in:", "'member_of'"),
}


@pytest.mark.parametrize(("query", "reason"), BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_a_bad_parameter_is_named(api: PlacementApi, query: str, reason: str) -> None:
    """With what is wrong about it."""
    result = api.get(f"/resource_providers?{query}")
    assert result.status_code == 400
    assert reason in detail(result)


def test_a_query_string_that_is_too_long_is_a_414(api: PlacementApi) -> None:
    """Before anything is made of it."""
    assert api.get(f"/resource_providers?name={'a' * 40_000}").status_code == 414


ODD_PARTS = {
    "a NUL": "%00",
    "bad utf-8": "%ff",
    "a surrogate": "%ed%a0%80",
    "dots": "..%2f..",
    "a long one": "a" * 5000,
    "a snowman": "%E2%98%83",
}
ODD_NAMES = {**ODD_PARTS, "lower case": "custom_x", "nothing custom": "CUSTOM_"}


@pytest.mark.parametrize("part", ODD_PARTS.values(), ids=ODD_PARTS)
@pytest.mark.parametrize(
    "path",
    [
        "/{}",
        "/resource_providers/{}",
        "/resource_providers/{}/inventories",
        f"{OF_PROVIDER}/inventories/{{}}",
        "/resource_classes/{}",
        "/traits/{}",
        f"/resource_providers/{PROVIDER}/{{}}",
    ],
)
def test_a_path_to_nothing_is_a_404(api: PlacementApi, path: str, part: str) -> None:
    """However odd it is."""
    result = api.get(path.format(part))
    assert result.status_code == 404
    check_error(result)


@pytest.mark.parametrize("part", ODD_NAMES.values(), ids=ODD_NAMES)
@pytest.mark.parametrize("path", ["/resource_classes/{}", "/traits/{}", "/allocations/{}"])
def test_nothing_is_made_of_an_odd_name(api: PlacementApi, path: str, part: str) -> None:
    """400 for a name that cannot be, 404 for what no name can be."""
    result = api.send("PUT", path.format(part), json=ALLOCATION)
    assert result.status_code in (400, 404)
    check_error(result)
    assert {name["name"] for name in api.get("/resource_classes").json["resource_classes"]} >= {
        *CLASSES
    }
