"""``armillary-manage placement sync-aggregates``: what it says, and its exit codes."""

import pytest

from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.db.catalogue import aggregates
from tests import builders
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import (
    AWAY,
    Cloud,
    RunPlacement,
    cloud,
    run_placement,
)

__all__ = ["cloud", "placement_template", "placement_url", "run_placement"]

HOST1, HOST2 = "cell1-host1", "cell1-host2"


def test_aggregates_are_made_equal(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Each difference has a line; the second time there is none."""
    rack, spare = cloud.add_aggregate(HOST1), cloud.add_aggregate(HOST2, name="spare")
    cloud.engine.aggregates.set_members(rack.uuid, [cloud.nodes[1]])
    cloud.engine.aggregates.set_members(spare.uuid, [cloud.nodes[1]])
    code, out, _ = run_placement("sync-aggregates")
    assert (code, out.splitlines()) == (
        0,
        [
            f"rack: {cloud.nodes[0]} added",
            f"rack: {cloud.nodes[1]} removed",
            "2 aggregates checked: 1 changed",
        ],
    )
    assert cloud.engine.aggregates.get_members(rack.uuid, [])["members"] == [cloud.nodes[0]]
    assert run_placement("sync-aggregates")[:2] == (0, "2 aggregates checked: 0 changed\n")


def test_a_dry_run_only_says_what_it_would_do(cloud: Cloud, run_placement: RunPlacement) -> None:
    """Nothing is changed."""
    rack = cloud.add_aggregate(HOST1)
    code, out, _ = run_placement("sync-aggregates", "--dry-run")
    assert (code, "would be added" in out, "1 would be changed" in out) == (0, True, True)
    assert cloud.engine.aggregates.get_members(rack.uuid, [])["members"] == []


@pytest.mark.parametrize(
    ("nodes", "code", "words"),
    [
        (None, 4, "host odd is mapped to no cell"),
        ([], 5, "host odd has no compute nodes"),
        ([builders.a_uuid()], 6, "placement has no resource provider"),
    ],
    ids=["unmapped", "no-nodes", "no-provider"],
)
def test_hosts_that_cannot_be_told_of_are_named(
    cloud: Cloud, run_placement: RunPlacement, nodes: list[str] | None, code: int, words: str
) -> None:
    """The other hosts are told of all the same."""
    with cloud.plane.database.writer() as session:
        host_mappings.map_hosts(session, cloud.cell.uuid, {"odd": nodes or []})
    rack = cloud.add_aggregate(HOST1, "odd")
    if nodes is None:
        with cloud.plane.database.writer() as session:
            host_mappings.delete_host_mapping(session, "odd")
    ended = run_placement("sync-aggregates")
    assert (ended[0], words in ended[1]) == (code, True)
    assert cloud.engine.aggregates.get_members(rack.uuid, [])["members"] == [cloud.nodes[0]]


@pytest.mark.parametrize(
    ("method", "code"), [("get_aggregate_members", 2), ("set_aggregate_members", 3)]
)
def test_one_failure_does_not_end_it(
    cloud: Cloud, run_placement: RunPlacement, method: str, code: int
) -> None:
    """The other aggregates are made equal, and the next run does the rest."""
    for name in ("rack", "spare"):
        cloud.add_aggregate(HOST1, name=name)
    cloud.bus.fail(method, AWAY)
    ended = run_placement("sync-aggregates")
    assert (ended[0], "rack: placement cannot be" in ended[1]) == (code, True)
    assert "spare: " in ended[1]
    assert run_placement("sync-aggregates")[0] == 0


def test_an_aggregate_that_is_deleted_meanwhile_is_passed_over(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """There is nothing to make equal."""
    rack = cloud.add_aggregate()

    def delete() -> None:
        with cloud.plane.database.writer() as session:
            aggregates.delete_aggregate(session, rack.uuid)

    cloud.bus.meanwhile("sync_aggregate", delete)
    assert run_placement("sync-aggregates")[:2] == (0, "0 aggregates checked: 0 changed\n")


def test_a_conductor_that_does_not_answer_ends_it(
    cloud: Cloud, run_placement: RunPlacement
) -> None:
    """With one line."""
    cloud.bus.fail("list_aggregates", AWAY)
    code, out, err = run_placement("sync-aggregates")
    assert (code, out, len(err.splitlines())) == (255, "", 1)
