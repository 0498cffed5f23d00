"""Aggregates in placement are made what the aggregates of hosts are."""

import dataclasses
from typing import Any

import pytest
import sqlalchemy as sa

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.db import host_mappings, models
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.repair.aggregate_sync import AggregateSync
from objects.aggregate import Aggregate
from tests import builders
from tests.fixtures.control_plane import NOW
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import AWAY, Cloud, cloud

__all__ = ["cloud", "placement_template", "placement_url"]

HOST1, HOST2 = "cell1-host1", "cell1-host2"


def sync(cloud: Cloud, aggregate: Aggregate, *, dry_run: bool = False) -> dict[str, Any]:
    """Return what was different."""
    made = AggregateSync(cloud.plane.database, cloud.plane.peers.placement)
    found = made.sync_aggregate(admin_context(), aggregate.uuid, dry_run=dry_run)
    assert found.name == aggregate.name
    return {
        word: list(value) if isinstance(value, tuple) else value
        for word, value in dataclasses.asdict(found).items()
        if value and word != "name"
    }


def members(cloud: Cloud, aggregate: Aggregate) -> list[str]:
    """Return the members of an aggregate, as placement has it."""
    return cloud.engine.aggregates.get_members(aggregate.uuid, [])["members"]


def test_placement_learns_of_hosts_that_it_lacks(cloud: Cloud) -> None:
    """As the compute nodes of theirs; and the second time nothing is different."""
    rack = cloud.add_aggregate(HOST1, HOST2)
    assert sync(cloud, rack) == {"added": sorted(cloud.nodes)}
    assert members(cloud, rack) == sorted(cloud.nodes)
    assert sync(cloud, rack) == {}


def test_placement_forgets_hosts_that_left(cloud: Cloud) -> None:
    """Of this aggregate alone."""
    rack, other = cloud.add_aggregate(HOST1), cloud.add_aggregate(HOST2, name="other")
    for one in (rack, other):
        cloud.engine.aggregates.set_members(one.uuid, cloud.nodes)
    assert sync(cloud, rack) == {"removed": [cloud.nodes[1]]}
    assert members(cloud, rack) == [cloud.nodes[0]]
    assert members(cloud, other) == sorted(cloud.nodes)


def test_a_dry_run_changes_nothing(cloud: Cloud) -> None:
    """It says the same."""
    rack = cloud.add_aggregate(HOST1)
    cloud.engine.aggregates.set_members(rack.uuid, [cloud.nodes[1]])
    expected = {"added": [cloud.nodes[0]], "removed": [cloud.nodes[1]]}
    assert sync(cloud, rack, dry_run=True) == expected
    assert members(cloud, rack) == [cloud.nodes[1]]
    assert sync(cloud, rack) == expected


def test_hosts_that_cannot_be_told_of_are_named(cloud: Cloud) -> None:
    """The others are told of all the same."""
    missing = builders.a_uuid()
    with cloud.plane.database.writer() as session:
        hosts = {"empty": [], "alien": [], "unreported": [missing]}
        host_mappings.map_hosts(session, cloud.cell.uuid, hosts)
    rack = cloud.add_aggregate(HOST1, HOST2, "empty", "alien", "unreported")
    with cloud.plane.database.writer() as session:
        for host in ("alien", HOST2):
            host_mappings.delete_host_mapping(session, host)
    assert sync(cloud, rack) == {
        "added": [cloud.nodes[0]],
        "unmapped_hosts": ["alien", HOST2],
        "hosts_without_nodes": ["empty"],
        "unknown_providers": [missing],
    }


def add_host(cloud: Cloud, aggregate: Aggregate, host: str) -> None:
    """Add a host as another super conductor does, which tells placement immediately."""
    with cloud.plane.database.writer() as session:
        aggregates.add_host(session, aggregate.uuid, host, now=NOW)
    sync(cloud, aggregate)


def test_a_message_that_another_overtook_changes_nothing(cloud: Cloud) -> None:
    """What was read last is what stands."""
    rack = cloud.add_aggregate(HOST1)
    cloud.bus.meanwhile("set_aggregate_members", lambda: add_host(cloud, rack, HOST2))
    sync(cloud, rack)
    assert members(cloud, rack) == sorted(cloud.nodes)


def test_a_message_that_arrives_again_late_changes_nothing(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any broker may deliver it twice; the members stay those of the newer message."""
    deliver = cloud.bus.deliver
    sent: list[tuple[Any, ...]] = []

    def recorded(*message: Any) -> Any:
        sent.append(message)
        return deliver(*message)

    monkeypatch.setattr(cloud.bus, "deliver", recorded)
    rack = cloud.add_aggregate(HOST1)
    sync(cloud, rack)
    add_host(cloud, rack, HOST2)
    first, *_ = [one for one in sent if "set_aggregate_members" in one]
    deliver(*first)
    assert members(cloud, rack) == sorted(cloud.nodes)


def test_a_database_of_before_newer_messages_is_heard(cloud: Cloud) -> None:
    """It was restored from a backup, so that its numbers are old."""
    rack = cloud.add_aggregate(HOST1)
    sync(cloud, rack)
    add_host(cloud, rack, HOST2)
    with cloud.plane.database.writer() as session:
        session.execute(sa.update(models.MetadataSeq).values(members_value=0))
        aggregates.remove_host(session, rack.uuid, HOST1, now=NOW)
    sync(cloud, rack)
    assert members(cloud, rack) == [cloud.nodes[1]]


@pytest.mark.parametrize(
    ("method", "step"), [("get_aggregate_members", "read"), ("set_aggregate_members", "write")]
)
def test_a_placement_that_does_not_answer_is_part_of_the_answer(
    cloud: Cloud, method: str, step: str
) -> None:
    """With the step that failed; the next time it is done."""
    rack = cloud.add_aggregate(HOST1)
    cloud.bus.fail(method, AWAY)
    answer = sync(cloud, rack)
    assert (answer["failed"], method in answer["error"]) == (step, True)
    assert sync(cloud, rack) == {"added": [cloud.nodes[0]]}


def test_an_aggregate_that_is_not_there_is_an_error(cloud: Cloud) -> None:
    """It was deleted, perhaps."""
    with pytest.raises(exception.AggregateNotFound):
        sync(cloud, builders.an_aggregate())
