"""A ledger counts what a decision uses; its read-only table shows that immediately."""

import numpy as np
import pytest

from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.usage import Inventories, Usage
from scheduler.selection.responses import no_request
from tests.fleets import a_host, a_table, some_hosts


def a_usage(used_mb: list[int], *, asked_mb: int = 1000, total_mb: int = 4000) -> Usage:
    count = len(used_mb)
    return Usage(
        ["MEMORY_MB"],
        np.array([asked_mb]),
        np.arange(count),
        Inventories(
            total=np.full((count, 1), total_mb),
            reserved=np.full((count, 1), 500),
            used=np.array(used_mb).reshape(count, 1),
            ratio=np.full((count, 1), 1.0),
        ),
        no_request,
    )


def test_usage_of_placement_takes_the_place_of_what_was_reported() -> None:
    """Free memory is what placement has left, and no less than nothing is said to be free."""
    ledger = HostLedger(a_table(some_hosts(2, free_ram_mb=1)), a_usage([0, 4500]))
    assert ledger.hosts.free_ram_mb.tolist() == [3500, -1000]
    assert ledger.hosts.total_usable_ram_mb.tolist() == [4000, 4000]
    assert ledger.hosts.free_disk_mb.tolist() == [512000, 512000]


def test_no_more_disk_is_free_than_the_host_can_write() -> None:
    """Whatever placement has left; what a request places is taken from it, and given back."""
    hosts = [a_host("a"), a_host("b", disk_available_least=3), a_host("c", disk_available_least=-2)]
    count = len(hosts)
    usage = Usage(
        ["DISK_GB"],
        np.array([2]),
        np.arange(count),
        Inventories(
            total=np.full((count, 1), 10),
            reserved=np.zeros((count, 1), np.int64),
            used=np.full((count, 1), 4),
            ratio=np.full((count, 1), 1.0),
        ),
        no_request,
    )
    ledger = HostLedger(a_table(hosts), usage)
    assert ledger.hosts.free_disk_mb.tolist() == [6 * 1024, 3 * 1024, -2 * 1024]
    ledger = ledger.take(np.array([1, 2]))
    ledger.consume(0, "x")
    assert ledger.hosts.free_disk_mb.tolist() == [1024, -2 * 1024]
    ledger.undo(0, "x")
    assert ledger.hosts.free_disk_mb.tolist() == [3 * 1024, -2 * 1024]


def test_consuming_shows_in_all_that_an_instance_uses() -> None:
    """Amounts, numbers of instances, their names; only on that host."""
    ledger = HostLedger(a_table(some_hosts(2)), a_usage([0, 0]))
    ledger.consume(1, "a")
    assert ledger.hosts.free_ram_mb.tolist() == [3500, 2500]
    assert ledger.hosts.num_instances.tolist() == [0, 1]
    assert ledger.hosts.num_io_ops.tolist() == [0, 1]
    assert ledger.hosts[1].instances == {"a"}
    assert ledger.hosts[0].instances == frozenset()


def test_undo_takes_a_consume_back() -> None:
    """The host is as before."""
    ledger = HostLedger(a_table(some_hosts(1)), a_usage([0]))
    ledger.hosts.count_instances(["a"])
    ledger.consume(0, "a")
    ledger.undo(0, "a")
    assert ledger.hosts.free_ram_mb.tolist() == [3500]
    assert ledger.hosts.num_instances.tolist() == [0]
    assert ledger.hosts[0].instances == frozenset()
    assert ledger.hosts.count_instances(["a"]).tolist() == [0]


def test_a_host_fits_until_it_is_used_up() -> None:
    """3,500 MiB are room for three times 1,000."""
    ledger = HostLedger(a_table(some_hosts(1)), a_usage([0]))
    fits = []
    for name in "abc":
        fits.append(ledger.fits(0))
        ledger.consume(0, name)
    assert fits == [True, True, True]
    assert not ledger.fits(0)


def test_instances_are_counted_where_they_are() -> None:
    """Reported ones and those of this request, each once."""
    ledger = HostLedger(a_table([a_host("a", instance_uuids=["i", "j"]), a_host("b")]))
    assert ledger.hosts.count_instances(["i", "j", "k"]).tolist() == [2, 0]
    ledger.consume(1, "k")
    ledger.consume(0, "i")
    assert ledger.hosts.count_instances(["i", "j", "k"]).tolist() == [2, 1]
    ledger.undo(0, "i")
    assert ledger.hosts.count_instances(["i", "j", "k"]).tolist() == [2, 1]


def test_an_instance_consumed_before_it_was_asked_about_is_counted() -> None:
    """The order of questions does not matter."""
    ledger = HostLedger(a_table(some_hosts(2)))
    ledger.consume(1, "k")
    assert ledger.hosts.count_instances(["k"]).tolist() == [0, 1]


def test_the_table_of_a_ledger_is_read_only() -> None:
    """A plugin that writes to a column fails, instead of changing other plugins' answers."""
    ledger = HostLedger(a_table(some_hosts(1)), a_usage([0]))
    for name in ("free_ram_mb", "num_instances", "failed_builds"):
        with pytest.raises(ValueError, match="read-only"):
            ledger.hosts.column(name)[0] = 7
    ledger.consume(0, "a")
    assert ledger.hosts.free_ram_mb.tolist() == [2500]
    assert ledger.hosts.num_instances.tolist() == [1]
