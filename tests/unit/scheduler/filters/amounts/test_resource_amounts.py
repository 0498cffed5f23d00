"""Memory, vCPUs and disk asked for, held against what a host has, and the limits that follow."""

import logging
from typing import Any

import pytest

from objects.request_spec import RequestSpec
from scheduler.filters import BaseHostFilter
from scheduler.filters.aggregates.aggregate_core_filter import AggregateCoreFilter
from scheduler.filters.aggregates.aggregate_disk_filter import AggregateDiskFilter
from scheduler.filters.aggregates.aggregate_ram_filter import AggregateRamFilter
from scheduler.filters.amounts.core_filter import CoreFilter
from scheduler.filters.amounts.disk_filter import DiskFilter
from scheduler.filters.amounts.exact_core_filter import ExactCoreFilter
from scheduler.filters.amounts.exact_disk_filter import ExactDiskFilter
from scheduler.filters.amounts.exact_ram_filter import ExactRamFilter
from scheduler.filters.amounts.ram_filter import RamFilter
from scheduler.filters.amounts.resource_amounts import CoresWithinRatio
from scheduler.hosts.host_state import HostState
from tests.builders import a_flavor, an_aggregate
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf, some_cluster_metadata


def asking(**amounts: Any) -> RequestSpec:
    return a_request_spec(flavor=a_flavor(**amounts))


def a_state(metadata: tuple[dict[str, str], ...] = (), **values: Any) -> HostState:
    cluster_metadata = some_cluster_metadata(
        [an_aggregate(hosts=["host1"], metadata=each) for each in metadata]
    )
    return a_table([a_host(**values)], cluster_metadata=cluster_metadata)[0]


def made(each: type[BaseHostFilter]) -> BaseHostFilter:
    return each(scheduling_conf())


@pytest.mark.parametrize(
    ("total", "free", "ratio", "asked", "passes"),
    [
        (1024, 1024, 1.0, 1024, True),
        (1024, 1023, 1.0, 1024, False),
        (1024, 0, 2.0, 1024, True),  # 2048 may be given away, 1024 are
        (1024, -1, 2.0, 1024, False),
        (1024, -512, 2.0, 512, True),
        (1024, 1024, 2.0, 1025, False),  # no instance has more than the host
        (1024, 600, 0.5, 89, False),  # 512 may be given away, 424 are
        (1024, 600, 0.5, 88, True),
    ],
)
def test_memory_is_given_away_up_to_the_ratio(
    total: int, free: int, ratio: float, asked: int, passes: bool
) -> None:
    """What is used and asked together; and no instance overcommits the host against itself."""
    state = a_state(total_usable_ram_mb=total, free_ram_mb=free, ram_allocation_ratio=ratio)
    assert made(RamFilter).host_passes(state, asking(memory_mb=asked)) is passes


@pytest.mark.parametrize(
    ("total", "used", "ratio", "asked", "passes"),
    [
        (4, 3, 1.0, 1, True),
        (4, 4, 1.0, 1, False),
        (4, 14, 4.0, 2, True),
        (4, 15, 4.0, 2, False),
        (4, 0, 4.0, 5, False),
        (0, 0, 1.0, 5, True),  # it does not say
    ],
)
def test_vcpus_are_given_away_up_to_the_ratio(
    total: int, used: int, ratio: float, asked: int, passes: bool
) -> None:
    """A host that reports none passes."""
    state = a_state(vcpus_total=total, vcpus_used=used, cpu_allocation_ratio=ratio)
    assert made(CoreFilter).host_passes(state, asking(vcpus=asked)) is passes


@pytest.mark.parametrize(
    ("free_mb", "ratio", "passes"),
    [
        (4 * 1024, 1.0, True),
        (4 * 1024 - 1, 1.0, False),
        (0, 1.4, True),  # 14 GiB may be given away, 10 are
        (-1, 1.4, False),
    ],
)
def test_root_ephemeral_and_swap_disks_are_asked_together(
    free_mb: int, ratio: float, passes: bool
) -> None:
    """2 and 1 GiB, and 1024 MiB of swap, on a host with 10 GiB."""
    state = a_state(total_usable_disk_gb=10, free_disk_mb=free_mb, disk_allocation_ratio=ratio)
    spec = asking(root_gb=2, ephemeral_gb=1, swap_mb=1024)
    assert made(DiskFilter).host_passes(state, spec) is passes


RATIOS = pytest.mark.parametrize(
    ("each", "key", "values", "limit"),
    [
        (AggregateRamFilter, "ram_allocation_ratio",
         {"total_usable_ram_mb": 512, "free_ram_mb": 0}, "memory_mb"),
        (AggregateCoreFilter, "cpu_allocation_ratio",
         {"vcpus_total": 512, "vcpus_used": 512}, "vcpu"),
        (AggregateDiskFilter, "disk_allocation_ratio",
         {"total_usable_disk_gb": 512, "free_disk_mb": 0}, "disk_gb"),
    ],
    ids=["memory", "vCPUs", "disk"],
)  # fmt: skip


@RATIOS
@pytest.mark.parametrize(
    ("texts", "ratio"),
    [([], 1.5), (["3"], 3), (["1.25"], 1.25), (["3", "1"], 1), (["much"], 1.5), (["3", "x"], 1.5),
     (["2,3"], 1.5), (["inf"], 1.5)],
    ids=["none", "more", "less", "least", "word", "one bad", "list", "infinite"],
)  # fmt: skip
def test_the_least_of_the_aggregates_ratios_counts(
    each: type[BaseHostFilter],
    key: str,
    values: dict[str, int],
    limit: str,
    texts: list[str],
    ratio: float,
) -> None:
    """Without one, or with one that is not a number, the host's own does."""
    state = a_state(tuple({key: text} for text in texts), **{key: 1.5}, **values)
    amount = int(512 * ratio) - 512
    asked = asking(memory_mb=amount, vcpus=amount, root_gb=amount)
    more = asking(memory_mb=amount + 1, vcpus=amount + 1, root_gb=amount + 1)
    assert made(each).host_passes(state, asked) is (amount <= 512)
    assert made(each).host_passes(state, more) is False
    assert made(each).limits(state, asked) == {limit: int(512 * ratio)}


EXACTLY: dict[str, Any] = {
    "total_usable_ram_mb": 4096,
    "free_ram_mb": 1024,
    "vcpus_total": 8,
    "vcpus_used": 6,
    "total_usable_disk_gb": 10,
    "free_disk_mb": 3 * 1024,
    "cpu_allocation_ratio": 16.0,
}


@pytest.mark.parametrize(
    ("each", "amounts", "limits"),
    [
        (ExactRamFilter, {"memory_mb": 1024}, {"memory_mb": 4096}),
        (ExactCoreFilter, {"vcpus": 2}, {"vcpu": 8}),
        (ExactDiskFilter, {"root_gb": 2, "swap_mb": 1024}, {"disk_gb": 10}),
    ],
    ids=["memory", "vCPUs", "disk"],
)
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_all_that_is_free_has_to_be_asked_for(
    each: type[BaseHostFilter], amounts: dict[str, int], limits: dict[str, int], more: int
) -> None:
    """Neither more nor less; the limit is what the host has, whatever its ratio."""
    name = next(iter(amounts))
    spec = asking(**{**amounts, name: amounts[name] + more})
    state = a_state(**EXACTLY)
    assert made(each).host_passes(state, spec) is (more == 0)
    assert made(each).limits(state, spec) == limits


def test_a_host_without_vcpus_has_not_exactly_none() -> None:
    """Its figures are missing."""
    state = a_state(vcpus_total=0, vcpus_used=0)
    assert not made(ExactCoreFilter).host_passes(state, asking(vcpus=0))
    assert made(ExactCoreFilter).explain(state, asking(vcpus=0)) == "reports no vCPUs"


@pytest.mark.parametrize(
    ("each", "spec", "reason"),
    [
        (RamFilter, asking(memory_mb=2048), "has 2047 MiB of memory left, 2048 requested"),
        (RamFilter, asking(memory_mb=9999), "has 4096 MiB of memory in total, 9999 requested"),
        (ExactCoreFilter, asking(vcpus=3), "has 2 vCPUs free, exactly 3 requested"),
    ],
)
def test_the_reason_has_both_numbers(
    each: type[BaseHostFilter], spec: RequestSpec, reason: str
) -> None:
    """What is there, and what is asked."""
    state = a_state(**{**EXACTLY, "free_ram_mb": 2047})
    assert made(each).explain(state, spec) == reason


@pytest.mark.parametrize("each", [CoreFilter, AggregateCoreFilter])
def test_a_host_without_vcpus_passes_without_a_limit(
    each: type[CoresWithinRatio], caplog: pytest.LogCaptureFixture
) -> None:
    """The log names it once."""
    table = a_table([a_host(vcpus_total=0), a_host("host2")])
    made = each(scheduling_conf())
    spec = a_request_spec()
    with caplog.at_level(logging.WARNING):
        assert made.host_mask(table, spec).tolist() == [True, True]
        assert made.host_passes(table[0], spec)
    assert [record.getMessage() for record in caplog.records] == [
        f"host1 reports no vCPUs; {each.__name__} passes it"
    ]
    assert made.limits(table[0], spec) == {}
    assert made.limits(table[1], spec) == {"vcpu": 16}
