"""Preselection keeps the hosts that a request allows; each rule that removes some is reported."""

from typing import Any

import pytest

from objects.request_spec import Destination
from scheduler.hosts.host_ledger import HostLedger
from scheduler.request.preselection import preselect
from tests.fleets import CELL, OTHER_CELL, a_host, a_request_spec, a_table, some_cluster_metadata

HOSTS = [a_host("alpha"), a_host("Beta"), a_host("gamma", cell=OTHER_CELL)]


def to(**values: Any) -> dict[str, Any]:
    return {"requested_destination": Destination.from_values(**values)}


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({}, ["alpha", "Beta", "gamma"]),
        ({"ignore_hosts": ["ALPHA", "beta"]}, ["gamma"]),
        ({"force_hosts": ["ALPHA", "nobody"]}, ["alpha"]),
        ({"force_nodes": ["Beta.example.org"]}, ["Beta"]),
        ({"force_nodes": ["beta.example.org"]}, []),
        ({"force_hosts": ["alpha"], "ignore_hosts": ["alpha"]}, []),
        (to(host="Beta"), ["Beta"]),
        (to(host="beta"), []),
        (to(host="Beta", node="Beta.example.org"), ["Beta"]),
        (to(host="Beta", node="alpha.example.org"), []),
        (to(cell_uuid=OTHER_CELL), ["gamma"]),
        (to(cell_uuid=OTHER_CELL, allow_cross_cell_move=True), ["alpha", "Beta", "gamma"]),
    ],
    ids=str,
)
def test_only_hosts_that_the_request_allows_are_left(asked: Any, left: list[str]) -> None:
    """Host names of lists are compared without regard to case, all others with it."""
    spec = a_request_spec(**asked)
    assert preselect(HostLedger(a_table(HOSTS)), spec, lambda *_: None).hosts.host == left


def test_hosts_of_disabled_cells_are_left_out() -> None:
    """Unless the request names the cell."""
    ledger = HostLedger(a_table(HOSTS, cluster_metadata=some_cluster_metadata(disabled=[CELL])))
    assert preselect(ledger, a_request_spec(), lambda *_: None).hosts.host == ["gamma"]
    left = preselect(ledger, a_request_spec(**to(cell_uuid=CELL)), lambda *_: None)
    assert left.hosts.host == ["alpha", "Beta"]


@pytest.mark.parametrize(
    ("asked", "left"),
    [
        ({"force_hosts": ["alpha"]}, []),
        ({"force_nodes": ["alpha.example.org"]}, []),
        (to(host="alpha"), []),
        (to(node="alpha.example.org"), []),
        (to(cell_uuid=CELL, allow_cross_cell_move=True), ["alpha", "Beta", "gamma"]),
        (to(cell_uuid=OTHER_CELL, allow_cross_cell_move=True), ["gamma"]),
        (to(cell_uuid=OTHER_CELL, allow_cross_cell_move=True, host="alpha"), []),
    ],
    ids=str,
)
def test_a_disabled_cell_gets_only_servers_that_it_has(asked: Any, left: list[str]) -> None:
    """Not even on a host that is forced or requested, nor from another cell."""
    ledger = HostLedger(a_table(HOSTS, cluster_metadata=some_cluster_metadata(disabled=[CELL])))
    assert preselect(ledger, a_request_spec(**asked), lambda *_: None).hosts.host == left


def test_what_removes_hosts_is_reported() -> None:
    """Like a filter; what removes none is not."""
    reports: list[Any] = []
    spec = a_request_spec(force_hosts=["alpha"], ignore_hosts=["nobody"])
    preselect(HostLedger(a_table(HOSTS)), spec, lambda *report: reports.append(report))
    reason = ("another host is forced", 2)
    assert reports == [("force_hosts", 3, 2, [reason], ["Beta", "gamma"])]
