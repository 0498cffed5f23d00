"""Filters run in their order, each on the hosts that the ones before it left."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter, FilterChain
from scheduler.host_state import HostState
from scheduler.host_table import HostTable
from scheduler.plugins import PluginBroke
from tests.fleets import a_request_spec, a_table, scheduling_conf, some_hosts


class _Named(BaseHostFilter):
    """Passes hosts whose name is longer; remembers whom it was asked about."""

    keep: set[str]

    def __init__(self) -> None:
        super().__init__(scheduling_conf())
        self.asked: list[str] = []

    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        self.asked.append(host_state.host)
        return host_state.host in self.keep

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        return f"is {host_state.host}"


class FirstFilter(_Named):
    keep = {"host2", "host3"}  # noqa: RUF012


class SecondFilter(_Named):
    keep = {"host1", "host3"}  # noqa: RUF012


class NoneFilter(_Named):
    keep = set()  # noqa: RUF012


def run(*chain: BaseHostFilter) -> tuple[list[str], list[Any]]:
    reports: list[Any] = []
    hosts = FilterChain(chain).run(
        a_table(some_hosts(3)), a_request_spec(), lambda *report: reports.append(report)
    )
    return hosts.host, reports


def test_a_host_has_to_pass_all_filters() -> None:
    """What each removed is reported, with the reason of one."""
    assert run(FirstFilter(), SecondFilter()) == (
        ["host3"],
        [("FirstFilter", 3, 1, "is host1"), ("SecondFilter", 2, 1, "is host2")],
    )


def test_a_filter_is_asked_about_hosts_that_are_still_in() -> None:
    """A filter without host_mask is expensive."""
    second = SecondFilter()
    run(FirstFilter(), second)
    assert second.asked == ["host2", "host3"]


def test_filters_stop_when_no_host_is_left() -> None:
    """The last report names the filter that took the last one."""
    last = FirstFilter()
    hosts, reports = run(NoneFilter(), last)
    assert hosts == []
    assert reports == [("NoneFilter", 3, 3, "is host1")]
    assert last.asked == []


class RaisingFilter(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        raise KeyError("colour")


class ShortFilter(BaseHostFilter):
    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        return np.ones(1, dtype=np.bool_)


class MuteFilter(BaseHostFilter):
    def host_passes(self, host_state: HostState, spec: RequestSpec) -> bool:
        return False

    def explain(self, host_state: HostState, spec: RequestSpec) -> str:
        raise KeyError("words")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (RaisingFilter, "RaisingFilter is broken: KeyError: 'colour'"),
        (ShortFilter, r"ShortFilter is broken: host_mask gave \(1,\) for 3 hosts"),
        (MuteFilter, "MuteFilter is broken: KeyError: 'words'"),
    ],
)
def test_a_broken_filter_is_named(broken: type[BaseHostFilter], message: str) -> None:
    """Its defect is not an answer about hosts."""
    with pytest.raises(PluginBroke, match=message):
        run(broken(scheduling_conf()))


def test_the_default_filters_are_those_that_operators_know() -> None:
    """In this order."""
    assert filters.load_filters(scheduling_conf()).names == [
        "ComputeFilter",
        "ComputeCapabilitiesFilter",
        "ImagePropertiesFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
    ]


def test_only_filters_that_look_at_instances_are_repeated() -> None:
    """The others answer the same for each instance of a request."""
    conf = scheduling_conf(
        filter_scheduler__enabled_filters=[
            "ComputeFilter",
            "AvailabilityZoneFilter",
            "ComputeCapabilitiesFilter",
            "ImagePropertiesFilter",
            "NumInstancesFilter",
            "ServerGroupAntiAffinityFilter",
            "ServerGroupAffinityFilter",
        ]
    )
    assert [type(each).__name__ for each in filters.load_filters(conf).repeated] == [
        "NumInstancesFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
    ]


def test_a_question_is_asked_once_about_each_distinct_value() -> None:
    """Of an array, and of a list that shares its values."""
    asked: list[Any] = []

    def question(value: Any) -> bool:
        asked.append(value)
        return bool(value == 2)

    shared = [2]
    assert filters.per_distinct(np.array([1, 2, 1, 2]), question).tolist() == [False, True] * 2
    assert asked == [1, 2]
    asked.clear()
    filters.per_distinct([shared, shared, [2]], question)
    assert asked == [[2], [2]]
