"""Filters run in their order, each on the hosts that the ones before it left."""

from typing import Any

import numpy as np
import pytest

from armillary import exception
from objects.request_spec import RequestSpec
from scheduler import filters
from scheduler.filters import BaseHostFilter, FilterChain
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_state import HostState
from scheduler.hosts.host_table import HostTable
from scheduler.plugins.loading import PluginFailed
from tests.fleets import a_group, a_request_spec, a_table, scheduling_conf, some_hosts


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
    ledger = FilterChain(chain).run(
        HostLedger(a_table(some_hosts(3))), a_request_spec(), lambda *report: reports.append(report)
    )
    return ledger.hosts.host, reports


def test_a_host_has_to_pass_all_filters() -> None:
    """What each removed is reported, with the reasons."""
    assert run(FirstFilter(), SecondFilter()) == (
        ["host3"],
        [
            ("FirstFilter", 3, 1, [("is this host", 1)], ["host1"]),
            ("SecondFilter", 2, 1, [("is this host", 1)], ["host2"]),
        ],
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
    assert reports == [("NoneFilter", 3, 3, [("is this host", 3)], ["host1", "host2", "host3"])]
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
        (RaisingFilter, "RaisingFilter failed: KeyError: 'colour'"),
        (ShortFilter, r"ShortFilter failed: host_mask returned shape \(1,\) for 3 hosts"),
        (MuteFilter, "MuteFilter failed: KeyError: 'words'"),
    ],
)
def test_a_broken_filter_is_named(broken: type[BaseHostFilter], message: str) -> None:
    """Its defect is not an answer about hosts."""
    with pytest.raises(PluginFailed, match=message):
        run(broken(scheduling_conf()))


def test_the_default_filters_are_those_that_operators_know() -> None:
    """In this order."""
    assert filters.load_filters(scheduling_conf()).names == [
        "ComputeFilter",
        "ComputeCapabilitiesFilter",
        "ImagePropertiesFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupAffinityFilter",
        "TopologySpreadFilter",
        "NUMATopologyFilter",
        "PciPassthroughFilter",
    ]


@pytest.mark.parametrize(
    ("values", "of_group"),
    [
        ({}, []),
        ({"instance_group": a_group("anti-affinity")}, ["ServerGroupAntiAffinityFilter"]),
        ({"instance_group": a_group("affinity")}, ["ServerGroupAffinityFilter"]),
        ({"instance_group": a_group("spread")}, ["TopologySpreadFilter"]),
    ],
    ids=["no group", "anti-affinity", "affinity", "spread"],
)
def test_only_filters_that_look_at_instances_are_repeated(
    values: dict[str, Any], of_group: list[str]
) -> None:
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
            "TopologySpreadFilter",
            "NUMATopologyFilter",
            "PciPassthroughFilter",
        ]
    )
    repeated = filters.load_filters(conf).repeated_for(a_request_spec(**values))
    assert [type(each).__name__ for each in repeated] == ["NumInstancesFilter", *of_group]


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


# Limits, and the filters asked on rebuild ---------------------------------------------------------


class LimitingFilter(FirstFilter):
    """Limits what a test wants."""

    def __init__(self, **limits: Any) -> None:
        super().__init__()
        self.found = limits

    def limits(self, host_state: HostState, spec: RequestSpec) -> dict[str, Any]:
        return self.found


class RebuildFilter(FirstFilter):
    RUN_ON_REBUILD = True


def limits_of(*chain: BaseHostFilter, **values: Any) -> Any:
    return FilterChain(chain).limits_for(a_request_spec(**values), a_table(some_hosts(1)))(0)


def test_the_limits_of_all_filters_come_together() -> None:
    """Of two for the same thing the least counts, whichever filter is first."""
    limits = limits_of(
        LimitingFilter(memory_mb=8, vcpu=4), FirstFilter(), LimitingFilter(memory_mb=6, vcpu=5)
    )
    assert (limits.memory_mb, limits.vcpu, limits.disk_gb) == (6, 4, None)


def test_limits_that_have_no_order_replace_each_other() -> None:
    """The last filter's count."""
    first, last = {"cpu_allocation_ratio": 1.0}, {"cpu_allocation_ratio": 2.0}
    limits = limits_of(LimitingFilter(numa_topology=first), LimitingFilter(numa_topology=last))
    assert limits.numa_topology == last


@pytest.mark.parametrize(
    ("chain", "values"),
    [
        ([FirstFilter()], {}),
        ([LimitingFilter()], {}),
        ([LimitingFilter(vcpu=1)], {"force_hosts": ["host1"]}),
    ],
    ids=["without limits", "none for this host", "not asked about a forced host"],
)
def test_no_limits_are_none(chain: list[BaseHostFilter], values: dict[str, Any]) -> None:
    """Nothing is sent to the host then."""
    assert limits_of(*chain, **values) is None


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (
            LimitingFilter(colour="red"),
            "LimitingFilter failed: limits returned unknown limit colour",
        ),
        (LimitingFilter(vcpu="many"), "LimitingFilter failed: ValueError"),
    ],
)
def test_limits_that_are_none_are_a_defect(broken: BaseHostFilter, message: str) -> None:
    """The filter is named."""
    with pytest.raises(PluginFailed, match=message):
        limits_of(broken)


def test_only_filters_that_say_so_run_on_rebuild() -> None:
    """In their order."""
    chain = FilterChain([FirstFilter(), RebuildFilter(), NoneFilter()])
    assert chain.for_rebuild().names == ["RebuildFilter"]


class EvenFilter(filters.BaseHostFilter):
    """Evaluates whole tables only."""

    def host_mask(self, hosts: HostTable, spec: RequestSpec) -> filters.Mask:
        return hosts.num_instances % 2 == 0


class IdleFilter(filters.BaseHostFilter):
    """Evaluates nothing."""


def test_a_filter_may_evaluate_tables_alone_but_not_nothing() -> None:
    """One host is evaluated as its row in the table; a filter without a method is refused."""
    table = HostTable.from_values([{"num_instances": number} for number in range(3)])
    conf = scheduling_conf(filter_scheduler__enabled_filters=[f"{__name__}:EvenFilter"])
    (even,) = filters.load_filters(conf).filters
    assert [even.host_passes(host, a_request_spec()) for host in table] == [True, False, True]
    conf.set_override("enabled_filters", [f"{__name__}:IdleFilter"], group="filter_scheduler")
    with pytest.raises(exception.ConfigurationError, match="IdleFilter has neither"):
        filters.load_filters(conf)
