"""Tests of cell0: storing, showing, deleting."""

import pytest

from armillary import exception
from objects.cell_mapping import CELL0_UUID
from objects.instances.instance_fault import InstanceFault
from objects.instances.server_filters import ServerFilters
from tests import builders
from tests.fixtures.control_plane import ControlPlane, a_user


def store_in_cell0(plane: ControlPlane, count: int = 1) -> list[str]:
    failed = [builders.an_instance(f"i{n}", vm_state="building") for n in range(count)]
    fault = InstanceFault.from_values(
        instance_uuid=failed[0].uuid, message="No host.", details="all are full"
    )
    for _ in range(2):  # the second time changes nothing
        plane.peers.cell0.store_in_cell0(a_user(), failed, fault)
    return [one.uuid for one in failed]


def test_an_instance_in_cell0_is_an_error_with_its_reason(plane: ControlPlane) -> None:
    """Fault and failed action are its own, once."""
    cell0 = plane.peers.cell0
    (uuid,) = store_in_cell0(plane)
    shown = cell0.get_instance(uuid)
    assert (shown.vm_state, shown.host, shown.cell_uuid) == ("error", None, CELL0_UUID)
    assert [fault.details for fault in cell0.list_faults(uuid)] == ["all are full"]
    assert [action.action for action in cell0.list_actions(uuid)] == ["create"]


def test_many_are_stored_in_batches(plane: ControlPlane) -> None:
    """And found again."""
    uuids = store_in_cell0(plane, 450)
    found = plane.peers.cell0.list_instances(filters=ServerFilters(), limit=1000, marker=None)
    assert {one.uuid for one in found} == set(uuids)


def test_a_deleted_instance_is_unknown(plane: ControlPlane) -> None:
    """Deleting it, or what never was, once more is fine."""
    (uuid,) = store_in_cell0(plane)
    for _ in range(2):
        plane.peers.cell0.delete_instances([uuid, builders.a_uuid()])
    with pytest.raises(exception.InstanceNotFound):
        plane.peers.cell0.get_instance(uuid)


def test_what_was_deleted_long_ago_is_removed(plane: ControlPlane) -> None:
    """In as many batches as it takes; what lives, or was deleted since, stays."""
    old, lives = store_in_cell0(plane, 450), store_in_cell0(plane)
    cell0 = plane.peers.cell0
    cell0.delete_instances(old)
    assert cell0.purge(keep_days=1) == 0
    plane.clock.advance(2 * 86400)
    (young,) = store_in_cell0(plane)
    cell0.delete_instances([young])
    assert cell0.purge(keep_days=1) == 450
    assert cell0.purge(keep_days=1) == 0
    assert cell0.purge(keep_days=0) == 0  # as old as this moment
    plane.clock.advance(1)
    assert cell0.purge(keep_days=0) == 1
    assert cell0.get_instance(lives[0]).uuid == lives[0]
