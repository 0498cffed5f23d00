"""Columns that plugins derive from JSON: computed once for each report, and always up to date."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from scheduler.hosts import derived_columns
from scheduler.hosts.derived_columns import Derived, HostClasses, Reports, once_per_class
from scheduler.hosts.host_ledger import HostLedger
from scheduler.hosts.host_table import HostTable
from scheduler.hosts.store.host_store import HostStore
from tests.fleets import Host, a_batch, a_fleet, some_hosts


def counted(calls: list[Any]) -> Callable[[Any], float]:
    def derive(value: Any) -> float:
        calls.append(value)
        return float(value["n"])

    return derive


def view(fleet: HostStore, hosts: list[Host]) -> HostTable:
    return fleet.view([host.uuid for host in hosts])[0]


def push(fleet: HostStore, hosts: list[Host], seq: int, stats: Any) -> None:
    for host in hosts:
        host.values["stats"] = stats
    fleet.apply(a_batch(hosts, first_seq=seq, last_seq=seq + 1))


def fleet_of(*numbers: int) -> tuple[list[Host], HostStore]:
    hosts = some_hosts(len(numbers))
    for host, number in zip(hosts, numbers, strict=True):
        host.values["stats"] = {"n": number}
    return hosts, a_fleet(hosts)


def test_a_report_is_looked_at_once() -> None:
    """However many requests ask, and in whichever order they have the hosts."""
    hosts, fleet = fleet_of(5, 6, 7)
    calls: list[Any] = []
    reports, derived = Reports("stats"), Derived(counted(calls))
    assert reports.numbers(view(fleet, hosts), derived).tolist() == [5, 6, 7]
    assert reports.numbers(view(fleet, hosts[::-1]), derived).tolist() == [7, 6, 5]
    assert len(calls) == 3


def test_only_what_is_asked_about_is_looked_at() -> None:
    """An unreadable report does not harm requests that other hosts serve."""
    hosts, fleet = fleet_of(5, 6)
    push(fleet, hosts[1:], 1, {})
    reports, derived = Reports("stats"), Derived(counted([]))
    assert reports.numbers(view(fleet, hosts[:1]), derived).tolist() == [5]
    with pytest.raises(KeyError):
        reports.numbers(view(fleet, hosts), derived)
    assert reports.numbers(view(fleet, hosts[:1]), derived).tolist() == [5]


def test_a_host_that_reports_again_is_looked_at_again() -> None:
    """Others are not."""
    hosts, fleet = fleet_of(5, 6, 7)
    calls: list[Any] = []
    reports, derived = Reports("stats"), Derived(counted(calls))
    reports.numbers(view(fleet, hosts), derived)
    push(fleet, hosts[1:2], 1, {"n": 9})
    assert reports.numbers(view(fleet, hosts), derived).tolist() == [5, 9, 7]
    assert len(calls) == 4


def test_a_decision_sees_the_reports_of_its_own_snapshot() -> None:
    """Also when a later one asked before; and that one is not led astray."""
    hosts, fleet = fleet_of(5, 6)
    before = view(fleet, hosts)
    push(fleet, hosts[:1], 1, {"n": 9})
    after = view(fleet, hosts)
    reports, derived = Reports("stats"), Derived(counted([]))
    for table, expected in ((after, [9, 6]), (before, [5, 6]), (after, [9, 6])):
        assert reports.numbers(table, derived).tolist() == expected


def test_what_is_made_of_one_report_is_kept_apart() -> None:
    """Two makers look at a change each in their time."""
    hosts, fleet = fleet_of(5)
    reports, once, twice = Reports("stats"), Derived(counted([])), Derived(lambda v: 2 * v["n"])
    assert reports.numbers(view(fleet, hosts), once).tolist() == [5]
    push(fleet, hosts, 1, {"n": 9})
    assert reports.numbers(view(fleet, hosts), twice).tolist() == [18]
    assert reports.numbers(view(fleet, hosts), once).tolist() == [9]


def test_hosts_may_become_more_and_fewer() -> None:
    """Rows of hosts that are gone are others' later."""
    hosts, fleet = fleet_of(*range(3))
    reports, derived = Reports("stats"), Derived(counted([]))
    reports.numbers(view(fleet, hosts), derived)
    more = some_hosts(200, stats={"n": 8})
    fleet.apply(a_batch(more, first_seq=1, last_seq=2, removed=[hosts[0].uuid]))
    assert set(reports.numbers(view(fleet, more), derived).tolist()) == {8}
    assert reports.numbers(view(fleet, hosts), derived).tolist() == [1, 2]
    other_hosts, other_fleet = fleet_of(4)
    assert reports.numbers(view(other_fleet, other_hosts), derived).tolist() == [4]
    assert reports.numbers(view(fleet, hosts), derived).tolist() == [1, 2]


def test_what_was_chosen_in_the_decision_counts() -> None:
    """For columns that show it, such as that of devices."""
    ledger = HostLedger(HostTable.from_values([{"pci_stats": [1, 2]}, {"pci_stats": [1]}]))
    table = ledger.hosts
    reports, derived = Reports("pci_stats"), Derived(len, dtype=np.int64)
    ledger.consume(0, "00000000-0000-0000-0000-000000000001")
    table.column("pci_stats")[0] = [2]
    assert reports.numbers(table, derived).tolist() == [1, 1]
    both = Derived(lambda value: [7, len(value)], shape=(2,))
    assert reports.numbers(table, both).tolist() == [[7, 7], [1, 1]]


def test_several_numbers_are_made_of_a_report() -> None:
    """The hosts are the last axis."""
    table = HostTable.from_values([{"stats": 1}, {"stats": 2}])
    reports, derived = Reports("stats"), Derived(lambda v: [v, 10 * v, 100 * v], shape=(3,))
    assert reports.numbers(table, derived).tolist() == [[1, 2], [10, 20], [100, 200]]


def test_hosts_of_a_kind_have_its_number() -> None:
    """And a question about kinds is asked once for each."""
    table = HostTable.from_values([{"stats": text} for text in ("a", "b", "a", "c", "b")])
    kinds, numbers = HostClasses("stats", lambda value: value).read(table)
    assert kinds.tolist() == [numbers[text] for text in "abacb"]
    asked: list[int] = []

    def is_so(position: int) -> bool:
        asked.append(position)
        return position > 0

    mask = once_per_class(kinds, is_so)
    assert mask.tolist() == [False, True, False, True, True]
    assert sorted(asked) == [0, 1, 3]
    assert once_per_class(kinds[:0], lambda position: True).tolist() == []


def test_kinds_that_are_no_more_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """They would be more and more in the life of a service."""
    monkeypatch.setattr(derived_columns, "_SPARE", 5)
    kinds = HostClasses("stats", lambda value: value)
    for number in range(30):
        table = HostTable.from_values([{"stats": number}])
        found, numbers = kinds.read(table)
        assert found.tolist() == [numbers[number]]
        assert len(numbers) <= 8
