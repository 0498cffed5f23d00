"""Hosts at the level that the flavor asks for."""

from collections.abc import Collection

import pytest

from scheduler.filters.trusted_filter import TrustedFilter
from tests.fleets import a_request_spec, a_table, scheduling_conf, some_hosts


class Levels:
    """Attestations that are all kept already."""

    def __init__(self) -> None:
        self.asked: list[Collection[str]] = []

    def levels(self, nodes: Collection[str]) -> dict[str, str]:
        self.asked.append(nodes)
        known = {"host1.example.org": "trusted", "host2.example.org": "untrusted"}
        return {node: known.get(node, "unknown") for node in nodes}


def a_filter() -> tuple[TrustedFilter, Levels]:
    levels = Levels()
    return TrustedFilter(scheduling_conf(), attestations=levels), levels


@pytest.mark.parametrize(
    ("asked", "passing"),
    [("trusted", ["host1"]), ("untrusted", ["host2"]), ("unknown", ["host3"]), ("Trusted", [])],
)
def test_hosts_at_the_level_pass(asked: str, passing: list[str]) -> None:
    """The level is that of the node; all are asked for together."""
    each, levels = a_filter()
    spec = a_request_spec({"trust:trusted_host": asked})
    hosts = a_table(some_hosts(3))
    mask = each.host_mask(hosts, spec)
    assert [host.host for host, passed in zip(hosts, mask, strict=True) if passed] == passing
    assert [len(nodes) for nodes in levels.asked] == [3]
    assert [host.host for host in hosts if each.host_passes(host, spec)] == passing


def test_a_flavor_that_does_not_ask_goes_anywhere() -> None:
    """And the service is left alone."""
    each, levels = a_filter()
    hosts = a_table(some_hosts(3))
    assert each.host_mask(hosts, a_request_spec()).all()
    assert each.host_passes(hosts[0], a_request_spec())
    assert levels.asked == []


def test_the_reason_has_both_levels() -> None:
    """What the host has, and what is asked."""
    each, _levels = a_filter()
    spec = a_request_spec({"trust:trusted_host": "trusted"})
    reason = each.explain(a_table(some_hosts(2))[1], spec)
    assert reason == "its attested level is untrusted, requested trusted"


def test_without_a_service_every_level_is_unknown() -> None:
    """The filter as it is made from a configuration that says nothing."""
    each = TrustedFilter(scheduling_conf())
    hosts = a_table(some_hosts(1))
    assert not each.host_passes(hosts[0], a_request_spec({"trust:trusted_host": "trusted"}))
    assert each.host_passes(hosts[0], a_request_spec({"trust:trusted_host": "unknown"}))
