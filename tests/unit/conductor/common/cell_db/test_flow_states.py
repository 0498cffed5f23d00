"""Tests of the states of operations: what rows of this and other releases hold."""

import dataclasses
from typing import Any

import pytest

from conductor.common.cell_db.flow_states import (
    ColdMove,
    End,
    Evacuated,
    FinishedMove,
    FlowState,
    LiveMove,
    Move,
    Reboot,
    Rebuild,
)
from conductor.common.cell_db.models import InstanceOperation, Migration
from conductor.common.cell_db.stored_object import StoredObject
from objects.flavor import Flavor
from objects.instances.instance_fault import InstanceFault
from tests.fixtures.cell import a_selection

CELL = "00000000-0000-4000-8000-0000000000c1"
OTHER = "00000000-0000-4000-8000-0000000000c2"
SMALL: StoredObject[Flavor] = StoredObject({"name": "small"})
LARGE: StoredObject[Flavor] = StoredObject({"name": "large"})
SOURCE = End("a", "node-a", 1, SMALL, "az1", CELL)
THERE = End("b", "node-b", 2, LARGE, None, OTHER)
STATES = [
    FlowState("active", CELL, StoredObject({"a": "fault"})),
    Reboot("active", CELL, is_hard=True),
    Rebuild("error", CELL, is_on=True),
    Move("stopped", CELL, source=SOURCE, destination=THERE, position=2, is_on=True, is_lost=True),
    ColdMove("active", CELL, migration_payload={"disk": 1}, is_kept_off=True),
    LiveMove(
        "active", CELL, source_description={"x": 1}, destination_description={}, is_aborted=True
    ),
]


def an_operation(flow_state: dict[str, Any] | None = None) -> InstanceOperation:
    return InstanceOperation(instance_uuid="i", flow_state=flow_state or {})


@pytest.mark.parametrize("state", STATES, ids=lambda state: type(state).__name__)
def test_a_state_is_read_as_it_was_stored(state: FlowState) -> None:
    """With both ends of a move, whatever is known by then."""
    row = an_operation()
    state.store(row)
    assert type(state).of(row) == state


def test_shared_stages_keep_what_they_do_not_know() -> None:
    """They know a move, its flow knows more; a peer of a later release may know more, too."""
    row = an_operation({"of_a_later_release": 1})
    LiveMove("active", CELL, source_description={"x": 1}).store(row)
    dataclasses.replace(Move.of(row), position=3).store(row)
    assert LiveMove.of(row) == LiveMove("active", CELL, source_description={"x": 1}, position=3)
    assert row.flow_state["of_a_later_release"] == 1


def test_the_stored_form_of_a_move_stays() -> None:
    """Conductors of other releases read it."""
    row = an_operation()
    Move("active", CELL, source=SOURCE, new_flavor=LARGE).store(row)
    assert row.flow_state == {
        "was": "active", "cell_uuid": CELL, "new_flavor": {"name": "large"}, "position": 0,
        "is_on": False, "is_kept_off": False, "is_lost": False,
        "source": {
            "host": "a", "node": "node-a", "attempt": 1, "flavor": {"name": "small"},
            "availability_zone": "az1", "cell_uuid": CELL,
        },
    }  # fmt: skip


@pytest.mark.parametrize(
    ("move", "expected"),
    [
        (Move("active", CELL, source=SOURCE), False),
        (Move("active", CELL, source=SOURCE, destination=THERE), True),
        (Move("active", None, source=SOURCE, destination=THERE), False),
        (
            Move(
                "active",
                CELL,
                selections=[StoredObject.of(a_selection("b").with_values(cell_uuid=OTHER))],
            ),
            True,
        ),
    ],
    ids=["at the source", "with a destination", "cell unknown", "a host was found"],
)
def test_a_move_between_cells_is_told_by_its_ends_and_hosts(move: Move, *, expected: bool) -> None:
    """The other cell may have a copy from the first command on."""
    assert move.is_between_cells is expected


def test_the_hosts_of_a_move_are_those_of_its_known_ends() -> None:
    """An unshelved server has no source."""
    assert Move("active", source=SOURCE, destination=THERE).hosts == ["a", "b"]
    assert Move("active", destination=dataclasses.replace(THERE, host=None)).hosts == []


def test_the_host_being_tried_is_the_one_at_its_position() -> None:
    """After the last one there is none left."""
    selections = [StoredObject.of(a_selection(host)) for host in ("a", "b")]
    move = Move("active", selections=selections, position=1)
    assert move.selection.service_host == "b"
    assert [move.has_selection(position) for position in (1, 2)] == [True, False]


def test_what_a_finished_move_needs_is_kept_with_its_migration() -> None:
    """It is confirmed or reverted by another operation, perhaps in another cell."""
    row = an_operation()
    Move("active", CELL, source=SOURCE, destination=THERE, is_on=True, position=4).store(row)
    kept = FinishedMove.of(row)
    assert set(kept.stored()) == {"source", "destination", "is_on", "was"}
    assert FinishedMove.of_migration(Migration(flow_state=kept.stored())) == kept


@pytest.mark.parametrize(("flow_state", "expected"), [({"attempt": 3}, 3), ({}, 0)])
def test_the_attempt_at_the_source_is_kept_after_an_evacuation(
    flow_state: dict[str, Any], expected: int
) -> None:
    """Its agent destroys that one when it is back; a move that was not kept has none."""
    assert Evacuated.of_migration(Migration(flow_state=flow_state)).attempt == expected


def test_the_last_fault_is_an_object() -> None:
    """An operation that is undone ends with it."""
    fault = InstanceFault.from_values(
        instance_uuid="00000000-0000-4000-8000-000000000001", message="m"
    )
    assert FlowState("active", fault=StoredObject.of(fault)).last_fault is not None
    assert FlowState("active").last_fault is None
