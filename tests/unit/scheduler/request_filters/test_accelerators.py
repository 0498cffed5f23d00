"""A device profile becomes groups of the question to placement."""

import json

import pytest

from armillary import exception
from armillary.conf import register
from armillary.conf.scheduling import accelerators
from objects.allocations.resource_query import ResourceQuery
from objects.request_spec import RequestSpec
from scheduler import request_filters
from scheduler.request import resource_query
from scheduler.request_filters.accelerators import Accelerators
from tests.fleets import a_request_spec, scheduling_conf, some_cluster_metadata

PROFILE = {
    "name": "two-fpgas",
    "groups": [
        {"resources:FPGA": "1", "trait:CUSTOM_FAST": "required"},
        {"resources:FPGA": "1", "trait:CUSTOM_SLOW": "forbidden"},
    ],
}


def a_filter(*profiles: object) -> Accelerators:
    conf = scheduling_conf()
    register(conf, accelerators)
    texts = [json.dumps(each) for each in profiles]
    conf.set_override("device_profile", texts, group="accelerators")
    return Accelerators(conf)


def asked(each: Accelerators, spec: RequestSpec) -> ResourceQuery:
    request_filters.apply_all([each], spec, some_cluster_metadata())
    return resource_query.build(spec, limit=0)


def test_each_group_of_a_profile_is_one_of_the_question() -> None:
    """Beside what the flavor takes itself; and the host can attach accelerators."""
    spec = a_request_spec({"accel:device_profile": "two-fpgas"})
    query = asked(a_filter(PROFILE), spec)
    assert query.root_required == ["COMPUTE_ACCELERATORS"]
    assert [
        (group.suffix, group.resources, group.required_traits, group.forbidden_traits)
        for group in query.groups
    ] == [
        ("", {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}, [], []),
        ("_device_profile_0", {"FPGA": 1}, [["CUSTOM_FAST"]], []),
        ("_device_profile_1", {"FPGA": 1}, [], ["CUSTOM_SLOW"]),
    ]
    assert query.group_policy == "none"


def test_a_flavor_without_a_profile_asks_for_none() -> None:
    assert len(asked(a_filter(PROFILE), a_request_spec()).groups) == 1


def test_an_unknown_profile_finds_no_host() -> None:
    """Else the guest would run without what it was promised."""
    with pytest.raises(exception.RequestFilterFailed, match="device profile gpu does not exist"):
        asked(a_filter(PROFILE), a_request_spec({"accel:device_profile": "gpu"}))


def test_without_profiles_only_the_trait_is_asked_for() -> None:
    """Another service knows them."""
    query = asked(a_filter(), a_request_spec({"accel:device_profile": "gpu"}))
    assert query.root_required == ["COMPUTE_ACCELERATORS"]
    assert len(query.groups) == 1


def test_a_profile_that_cannot_be_read_stops_the_start() -> None:
    with pytest.raises(exception.ConfigurationError, match="device_profile"):
        a_filter({"name": "x"})
