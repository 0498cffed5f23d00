"""Only providers of compute services are asked for, once all of these say that they are."""

from __future__ import annotations

import pytest

from scheduler import request_filters
from scheduler.hosts.cluster_metadata import ClusterMetadata
from scheduler.request_filters.owner import Owner
from tests.fleets import (
    CELL,
    OTHER_CELL,
    a_batch,
    a_fleet,
    a_host,
    a_request_spec,
    scheduling_conf,
    some_facts,
)


def required(facts: ClusterMetadata) -> list[str]:
    spec = a_request_spec()
    request_filters.apply_all([Owner(scheduling_conf())], spec, facts)
    assert spec.request_level_params is not None
    return spec.request_level_params.root_required


@pytest.mark.parametrize(
    ("versions", "traits"),
    [((2, 2), ["OWNER_NOVA"]), ((3, 2), ["OWNER_NOVA"]), ((2, 1), []), ((2, None), [])],
    ids=["new", "newer", "one old", "one unknown"],
)
def test_the_trait_is_required_when_all_cells_are_new_enough(
    versions: tuple[int | None, int | None], traits: list[str]
) -> None:
    """A cell conductor that does not say the version has old ones."""
    cells = (CELL, OTHER_CELL)
    hosts = [
        a_host(cell, cell=cell, service_version=version)
        for cell, version in zip(cells, versions, strict=True)
    ]
    assert required(a_fleet(hosts).facts) == traits


def test_a_cell_that_was_not_heard_of_may_be_old() -> None:
    assert required(a_fleet([a_host(service_version=2)]).facts) == []
    facts = some_facts(disabled=[OTHER_CELL])
    assert required(a_fleet([a_host(service_version=2)], facts=facts).facts) == ["OWNER_NOVA"]


def test_other_facts_of_the_same_hosts_say_the_same() -> None:
    """Aggregates change more often than services."""
    fleet = a_fleet([a_host(service_version=2)], facts=some_facts(disabled=[OTHER_CELL]))
    fleet.set_facts(some_facts(seq=2, disabled=[OTHER_CELL]))
    assert required(fleet.facts) == ["OWNER_NOVA"]


def test_an_old_host_that_is_gone_does_not_count() -> None:
    """Its row is free, or another host's."""
    old, new = a_host("old", service_version=1), a_host("new", service_version=2)
    fleet = a_fleet([old, new], facts=some_facts(disabled=[OTHER_CELL]))
    assert required(fleet.facts) == []
    fleet.apply(a_batch([], first_seq=1, last_seq=2, removed=[old.uuid]))
    assert required(fleet.facts) == ["OWNER_NOVA"]
    fleet.apply(a_batch([a_host("next", service_version=1)], first_seq=2, last_seq=3))
    assert required(fleet.facts) == []
