"""One flavor a host."""

import pytest

from scheduler.filters.affinity.type_affinity_filter import TypeAffinityFilter
from scheduler.hosts.host_ledger import HostLedger
from tests.builders import a_flavor
from tests.fleets import a_host, a_request_spec, a_table, scheduling_conf


@pytest.mark.parametrize(
    ("flavors", "passes"),
    [
        (None, True),
        ({}, True),
        ({"id-small": 3}, True),
        ({"id-large": 1}, False),
        ({"id-small": 3, "id-large": 1}, False),
        ({"id-small": 3, "id-large": 0}, True),
    ],
)
def test_a_host_with_another_flavor_fails(flavors: dict[str, int] | None, passes: bool) -> None:
    """An empty one is for any; one that had another before is, too."""
    state = a_table([a_host(instance_flavors=flavors)])[0]
    spec = a_request_spec(flavor=a_flavor("small"))
    assert TypeAffinityFilter(scheduling_conf()).host_passes(state, spec) is passes


def test_instances_chosen_in_this_request_have_its_flavor() -> None:
    """So the second one may join the first."""
    ledger = HostLedger(a_table([a_host(instance_flavors={})]))
    ledger.consume(0, "00000000-0000-0000-0000-000000000001")
    assert TypeAffinityFilter(scheduling_conf()).host_passes(ledger.hosts[0], a_request_spec())


def test_the_reason_names_the_flavor() -> None:
    """The first of them, when there are several."""
    state = a_table([a_host(instance_flavors={"id-small": 1, "y": 1, "x": 2})])[0]
    each = TypeAffinityFilter(scheduling_conf())
    assert each.explain(state, a_request_spec()) == "runs instances of the flavor x"
