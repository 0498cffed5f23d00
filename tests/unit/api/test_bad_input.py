"""Whatever is sent, the answer is never that we broke."""

import copy
import functools
import itertools
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.app import make_app
from api.routes import ROUTES
from armillary.conf import api as api_conf
from armillary.conf import base as base_conf
from armillary.conf import console as console_conf
from armillary.conf import image as image_conf
from armillary.conf import serial_console
from armillary.conf import tracing as tracing_conf
from armillary.http.dispatch import actions_of
from armillary.http.microversion import HEADER, to_text
from conductor.super_conductor.interface import SuperConductorAPI
from objects.hosts.host_answers import AvailabilityZone
from tests import builders
from tests.builders import a_migration
from tests.fixtures.configuration import parsed_conf
from tests.fixtures.http_api import ADMIN, MEMBER, NEWEST, Api
from tests.fixtures.plugins.examples import examples
from tests.fixtures.plugins.sampling import sample
from tests.fixtures.records.claim_records import a_claim
from tests.fixtures.stand_ins.stand_in import StandIn
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient

GROUP = builders.a_uuid()
SERVER = builders.a_uuid()
MIGRATION = builders.a_uuid()
CLAIM = builders.a_uuid()
PORT = builders.a_uuid()

# What is right, to be spoilt in one place.
RIGHT: dict[tuple[str, str], Any] = {
    ("POST", "/v2.1/servers"): {
        "server": {
            "name": "web", "flavorRef": "small", "imageRef": "loop", "min_count": 1,
            "max_count": 2, "availability_zone": "north:host1", "metadata": {"a": "b"},
            "networks": "none", "return_reservation_id": False, "host": "host1",
            "hypervisor_hostname": "node1",
        },
        "os:scheduler_hints": {"group": GROUP, "near": ["a"]},
    },
    ("POST", "/v2.1/armillary/claims"): {
        "claim": {
            "name": "data", "kind": "storage", "resources": {"DISK_GB": 5},
            "required": ["CUSTOM_A"], "forbidden": ["CUSTOM_B"], "pool": "array1",
            "server_id": SERVER, "ends_at": "2040-01-31T12:00:00Z",
        }
    },
    ("PUT", "/v2.1/armillary/claim-quotas/{project_id}"): {
        "claim_quotas": {"claims": 5, "claims:DISK_GB": 10}
    },
    ("POST", "/v2.1/servers/{server_id}/action"): {
        "rebuild": {"imageRef": "loop", "name": "web", "metadata": {"a": "b"}},
    },
    ("POST", "/v2.1/flavors"): {
        "flavor": {
            "name": "big", "id": "7", "vcpus": 1, "ram": 1, "disk": 1, "swap": 0,
            "OS-FLV-EXT-DATA:ephemeral": 0, "description": None, "rxtx_factor": 1.0,
            "os-flavor-access:is_public": True,
        }
    },
    ("PUT", "/v2.1/flavors/{flavor_id}"): {"flavor": {"description": "a"}},
    ("POST", "/v2.1/flavors/{flavor_id}/action"): {"addTenantAccess": {"tenant": "p1"}},
    ("POST", "/v2.1/flavors/{flavor_id}/os-extra_specs"): {"extra_specs": {"a": "b"}},
    ("PUT", "/v2.1/flavors/{flavor_id}/os-extra_specs/{key}"): {"a": "b"},
    ("POST", "/v2.1/images"): {
        "image": {
            "id": builders.a_uuid(), "name": "sun", "disk_format": "raw", "minRam": 1,
            "minDisk": 1, "size": 1, "properties": {"a": "b"},
        }
    },
    ("PUT", "/v2.1/os-services/{service_id}"): {
        "status": "disabled", "disabled_reason": "x", "forced_down": True,
    },
    ("PUT", "/v2.1/os-hosts/{host}"): {"status": "disable"},
    ("PUT", "/v2.1/os-services/enable"): {"host": "host1", "binary": "armillary-compute"},
    ("PUT", "/v2.1/os-services/disable"): {"host": "host1", "binary": "armillary-compute"},
    ("PUT", "/v2.1/os-services/disable-log-reason"): {
        "host": "host1", "binary": "armillary-compute", "disabled_reason": "x",
    },
    ("PUT", "/v2.1/os-services/force-down"): {
        "host": "host1", "binary": "armillary-compute", "forced_down": True,
    },
    ("POST", "/v2.1/os-aggregates"): {"aggregate": {"name": "a", "availability_zone": "z"}},
    ("PUT", "/v2.1/os-aggregates/{aggregate_id}"): {
        "aggregate": {"name": "b", "availability_zone": "z"}
    },
    ("POST", "/v2.1/os-aggregates/{aggregate_id}/action"): {
        "set_metadata": {"metadata": {"a": "b", "c": None}}
    },
    ("POST", "/v2.1/os-server-groups"): {
        "server_group": {
            "name": "a", "policy": "anti-affinity", "rules": {"max_server_per_host": 2},
        }
    },
    ("PUT", "/v2.1/os-quota-sets/{project_id}"): {
        "quota_set": {"instances": 1, "cores": -1, "ram": 0}
    },
    ("PUT", "/v2.1/os-quota-class-sets/{quota_class}"): {"quota_class_set": {"cores": -1}},
}  # fmt: skip
NAMES = {
    "server_id": SERVER, "flavor_id": "small", "image_id": "loop", "hypervisor_id": "node1",
    "service_id": builders.a_uuid(), "aggregate_id": "1", "server_group_id": GROUP,
    "project_id": "p1", "key": "a", "request_id": "req-1", "migration_id": MIGRATION,
    "zone_name": "eu", "tag": "a", "host": "host1", "alias": "os-hosts", "network": "private",
    "quota_class": "default", "before": "2030-01-01",
    "power_action": "reboot", "keypair": "key", "claim_id": CLAIM, "host_name": "host1",
    "group_id": GROUP, "network_id": "private", "port_id": PORT, "rule_id": GROUP,
    "address_id": GROUP, "volume_id": GROUP,
}  # fmt: skip


def headers_of(path: str) -> dict[str, str] | None:
    """Return the headers of requests to a path that the newest version does not have."""
    last = {method.until for each in ROUTES[path].values() for method in actions_of(each)}
    (until, *_others) = last
    return None if until is None else {**NEWEST, HEADER: f"compute {to_text(until)}"}


REQUESTS = [(method, path) for path, methods in ROUTES.items() for method in methods]

EVERY = 8
"""Of so many oddities one is tried in each run."""
ODD_TEXTS = [
    "", " ", "\0", "a\0b", "\x7f", "x" * 300, "x" * 70000, "é\n", "0", "-1", "1e9", "None", "../..",
    "%s", "💥",
]  # fmt: skip
ODD_NUMBERS = [0, -1, 1.0, -0.0, 2**31, 2**63, 10**400, 1e308, float("nan"), float("inf")]
ODD_VALUES: list[Any] = [
    *ODD_TEXTS, *ODD_NUMBERS, None, True, [], {}, ["a\0b"], {"a\0b": "a"}, {"a": "a\0b"}, "\ud800",
    {"": ""}, [[[]]], [None],
]  # fmt: skip

odd_texts = st.one_of(st.text(max_size=20), st.sampled_from(ODD_TEXTS))
odd_numbers = st.one_of(st.integers(), st.floats(), st.sampled_from(ODD_NUMBERS))
odd_values = st.recursive(
    st.one_of(st.none(), st.booleans(), odd_numbers, odd_texts),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(odd_texts, inner, max_size=4)
    ),
    max_leaves=8,
)


def an_api() -> Api:
    """Return one with one thing of every kind, as if nothing had been asked before."""
    conductor = SuperConductor()
    conductor.flavors = [builders.a_flavor("small", is_public=False)]
    conductor.images = [builders.an_image("loop")]
    conductor.servers = [builders.an_instance(uuid=SERVER)]
    conductor.migrations = [a_migration(SERVER, uuid=MIGRATION)]
    conductor.groups = [builders.an_instance_group(uuid=GROUP)]
    conductor.services = [builders.a_service("host1", uuid=NAMES["service_id"])]
    conductor.nodes = [builders.a_compute_node("host1", node="node1")]
    conductor.aggregates = [builders.an_aggregate()]
    conductor.claims = {CLAIM: a_claim(CLAIM)}
    conductor.zones = [AvailabilityZone("north", {})]
    api, stand_in = _lasting_api()
    stand_in.behind = SuperConductorClient(conductor)
    return api


@functools.cache
def _lasting_api() -> tuple[Api, StandIn]:
    conf = parsed_conf(base_conf, api_conf, console_conf, image_conf, serial_console, tracing_conf)
    stand_in = StandIn()
    return Api(make_app(conf, conductor=cast("SuperConductorAPI", stand_in))), stand_in


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of all values inside a body, and of the body."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    below = (
        place
        for key, item in items
        for place in (places(item, (*at, key)) if isinstance(item, dict | list) else [(*at, key)])
    )
    return [at, *below]


def spoilt(body: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy of a body with another value in one place."""
    if not place:
        return value
    changed = copy.deepcopy(body)
    parent = changed
    for key in place[:-1]:
        parent = parent[key]
    parent[place[-1]] = value
    return changed


def quoted(text: str) -> str:
    """Return a text as it may stand in a path."""
    return "".join(f"%{byte:02X}" for byte in text.encode())


@pytest.mark.parametrize(("method", "path"), RIGHT, ids=[" ".join(item) for item in RIGHT])
def test_the_right_bodies_are_right(method: str, path: str) -> None:
    """Else the tests below would spoil what is spoilt already."""
    answer = an_api().send(
        method, path.format(**NAMES), json=RIGHT[method, path], headers=headers_of(path)
    )
    assert answer.status_code < 300, answer.text


@pytest.mark.parametrize(("method", "path"), RIGHT, ids=[" ".join(item) for item in RIGHT])
def test_a_body_that_is_odd_in_one_place_is_answered(method: str, path: str) -> None:
    """Every place, every oddity: some of them in each run."""
    api, right = an_api(), RIGHT[method, path]
    cases = list(itertools.product(places(right), ODD_VALUES))
    for place, value in sample(cases, EVERY, f"{method} {path}"):
        body = spoilt(right, place, value)
        answer = api.send(method, path.format(**NAMES), json=body, headers=headers_of(path))
        assert answer.status_code < 500, (place, value, answer.text)


def test_each_value_of_a_parameter_is_clean_text() -> None:
    """Not only the one of a parameter that is there once: no database takes a NUL."""
    headers = {HEADER: "compute 2.1"}
    answer = an_api().send("GET", "/v2.1/servers?status=ACTIVE&status=a%00", headers=headers)
    assert answer.status_code == 400
    assert "NUL" in answer.text


@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-23:59"])
@pytest.mark.parametrize("parameter", [
    "servers?changes-since", "servers/detail?changes-before", "servers?created_at",
    "servers?launched_at", "images?changes-since", "os-simple-tenant-usage?start",
    "os-simple-tenant-usage?end",
])  # fmt: skip
def test_a_time_that_utc_has_not_is_refused(parameter: str, moment: str) -> None:
    """In UTC it is before year 1, or after 9999: no database compares it with its own."""
    answer = an_api().send("GET", f"/v2.1/{parameter}={quoted(moment)}")
    assert answer.status_code == 400
    assert "It must be a time such as 2030-01-31T12:00:00Z" in answer.text


@pytest.mark.parametrize("path", ["os-simple-tenant-usage?end=", "os-instance_usage_audit_log/"])
def test_a_period_before_the_first_day_is_refused(path: str) -> None:
    """It would begin before year 1."""
    answer = an_api().send("GET", f"/v2.1/{path}0001-01-01")
    assert answer.status_code == 400


@pytest.mark.parametrize(("method", "path"), REQUESTS, ids=[" ".join(item) for item in REQUESTS])
@pytest.mark.sampled(every=4)
def test_a_path_with_an_odd_name_is_answered(method: str, path: str) -> None:
    """Every path, every oddity: some of them in each run."""
    for text in sample(ODD_TEXTS, EVERY, f"{method} {path}"):
        names = dict.fromkeys(NAMES, quoted(text))
        answer = _shared().send(
            method, path.format(**names), json=RIGHT.get((method, path)), headers=headers_of(path)
        )
        assert answer.status_code < 500, (text, answer.text)


@pytest.mark.parametrize(
    ("method", "path", "parameter"),
    [
        (method, path, parameter)
        for method, path in REQUESTS
        if method == "GET"
        for parameter in ROUTES[path]["GET"].query.get("properties", {})  # type: ignore[union-attr]
    ],
)
@pytest.mark.sampled(every=3)
def test_an_odd_parameter_is_answered(method: str, path: str, parameter: str) -> None:
    """Every parameter, every oddity: some of them in each run."""
    for text in sample(ODD_TEXTS, EVERY, f"{path} {parameter}"):
        answer = _shared().send(
            method, path.format(**NAMES), params={parameter: text}, headers=headers_of(path)
        )
        assert answer.status_code < 500, (text, answer.text)


@pytest.mark.parametrize(("method", "path"), RIGHT, ids=[" ".join(item) for item in RIGHT])
@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_a_body_with_anything_anywhere_is_answered(
    method: str, path: str, data: st.DataObject
) -> None:
    """Either it is taken or the caller is told why not."""
    right = RIGHT[method, path]
    place = data.draw(st.sampled_from(places(right)))
    body = spoilt(right, place, data.draw(odd_values))
    _assert_not_broken(
        _shared(), method, path.format(**NAMES), data, json=body, headers=headers_of(path)
    )


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_query_anywhere_is_answered(data: st.DataObject) -> None:
    """Known parameters with odd values, and odd parameters."""
    method, path = data.draw(st.sampled_from(REQUESTS))
    known = st.sampled_from(
        ["limit", "marker", "name", "status", "host", "all_tenants", "offset", "minRam", "binary"]
    )
    query = data.draw(st.dictionaries(st.one_of(known, odd_texts), odd_texts, max_size=3))
    encodable = {k: v for k, v in query.items() if _encodes(k) and _encodes(v)}
    _assert_not_broken(_shared(), method, path.format(**NAMES), data, params=encodable)


@settings(max_examples=examples(150), suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_name_in_a_path_is_answered(data: st.DataObject) -> None:
    """However odd."""
    method, path = data.draw(st.sampled_from([item for item in REQUESTS if "{" in item[1]]))
    text = data.draw(odd_texts.filter(_encodes))
    place = path.format(**dict.fromkeys(NAMES, quoted(text)))
    _assert_not_broken(_shared(), method, place, data)


@settings(max_examples=examples(150))
@given(raw=st.binary(max_size=100), media_type=st.sampled_from(["application/json", "text/plain"]))
def test_any_bytes_are_answered(raw: bytes, media_type: str) -> None:
    """They need not be text."""
    answer = _shared().send("POST", "/v2.1/servers", body=raw, headers={"Content-Type": media_type})
    assert answer.status_code < 500, answer.text


def _assert_not_broken(api: Api, method: str, path: str, data: st.DataObject, **more: Any) -> None:
    token = data.draw(st.sampled_from([ADMIN, MEMBER]))
    answer = api.send(method, path, token=token, **more)
    assert answer.status_code < 500, answer.text


def _encodes(text: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in text)


_apis: list[Api] = []


def _shared() -> Api:
    """Return the same for all examples: whatever came before, the next answer is as good."""
    if not _apis:
        _apis.append(an_api())
    return _apis[0]
