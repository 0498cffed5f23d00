"""Requests to move or resize a server: its target host, its flavor, the quota."""

from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.db import cells
from tests.fixtures.control_plane import NOW, ControlPlane, an_admin
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor
from tests.unit.conductor.super_conductor.servers.operated_servers import cell, limit, usage, uuid

__all__ = ["cell", "uuid"]


# Hosts that are asked for


@pytest.mark.parametrize("operation", ["migrate", "live_migrate"])
def test_a_host_that_is_asked_for_is_the_only_one(
    plane: ControlPlane, cell: CellConductor, uuid: str, operation: str
) -> None:
    """The scheduler is told."""
    plane.operate(uuid, operation, host="cell1-host2", context=an_admin())
    plane.workers.work()
    wanted = plane.scheduler.specs[-1].requested_destination
    assert wanted is not None
    assert (wanted.host, wanted.cell_uuid) == ("cell1-host2", cell.uuid)


@pytest.mark.parametrize("operation", ["migrate", "live_migrate", "evacuate"])
@pytest.mark.parametrize(
    ("host", "error", "message"),
    [
        ("nowhere", exception.HostNotFound, "nowhere"),
        ("cell2-host1", exception.Invalid, "host cell2-host1 is in another cell than server"),
        ("cell1-host1", exception.Invalid, "is already on host cell1-host1"),
    ],
    ids=["unknown", "other cell", "same"],
)
def test_a_host_that_will_not_do_is_refused(
    plane: ControlPlane,
    cell: CellConductor,
    uuid: str,
    operation: str,
    host: str,
    error: type[Exception],
    message: str,
) -> None:
    """Before anything is stored."""
    plane.add_cell("cell2")
    plane.map_hosts()
    cell.services = [service.with_values(up=False) for service in cell.services]
    with pytest.raises(error, match=message):
        plane.operate(uuid, operation, host=host, context=an_admin())
    assert (cell.begun, plane.left()) == ([], [])


def test_a_host_of_another_cell_that_is_disabled_is_refused(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Also for a resize that may change cells; within a disabled cell servers move on."""
    plane.add_cell("cell2")
    plane.map_hosts()
    with plane.database.writer() as session:
        for name in ("cell1", "cell2"):
            cells.update_cell(session, name, {"disabled": True}, now=NOW)
    asked: dict[str, Any] = {"flavor": "large", "is_cross_cell": True, "context": an_admin()}
    with pytest.raises(exception.CellDisabled, match="cell2-host1 is in cell cell2"):
        plane.operate(uuid, "resize", host="cell2-host1", **asked)
    assert (cell.begun, plane.left()) == ([], [])
    plane.operate(uuid, "resize", host="cell1-host2", **asked)


def test_an_evacuation_needs_a_dead_host(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Else the server would run twice; what to do is said."""
    with pytest.raises(exception.HostIsUp, match="its host cell1-host1 is up"):
        plane.operate(uuid, "evacuate", context=an_admin())
    assert (cell.begun, plane.left()) == ([], [])
    cell.services[0] = cell.services[0].with_values(up=False)
    plane.operate(uuid, "evacuate", context=an_admin(), stays_off=True)
    plane.workers.work()
    assert cell.instances[uuid].host == "cell1-host2"
    assert cell.begun[-1][2]["stays_off"]


@pytest.mark.parametrize("may_stay", [False, True], ids=["away", "here"])
def test_a_resized_server_may_stay_where_that_is_allowed(
    plane: ControlPlane, cell: CellConductor, uuid: str, may_stay: bool
) -> None:
    """[DEFAULT] allow_resize_to_same_host; migrations always leave."""
    plane.conf.set_override("allow_resize_to_same_host", may_stay)
    plane.operate(uuid, "resize", flavor="large")
    plane.workers.work()
    assert plane.scheduler.specs[-1].ignore_hosts == ([] if may_stay else ["cell1-host1"])


# Sizes and quotas


@pytest.mark.parametrize(
    ("flavor", "error"),
    [
        ("huge", exception.FlavorNotFound),
        ("small", exception.Invalid),
        ("retired", exception.Invalid),
    ],
)
def test_a_flavor_that_will_not_do_is_refused(
    plane: ControlPlane, cell: CellConductor, uuid: str, flavor: str, error: type[Exception]
) -> None:
    """Unknown, the present one, or taken out of use."""
    plane.add_flavor("retired", disabled=True)
    with pytest.raises(error):
        plane.operate(uuid, "resize", flavor=flavor)
    assert (cell.begun, plane.left(), usage(plane)) == ([], [], (1, 512))


def test_a_resize_counts_the_larger_flavor_from_its_acceptance_on(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """Both may be had at any time until it is confirmed."""
    plane.operate(uuid, "resize", flavor="large")
    assert usage(plane) == (4, 2048)


def test_a_smaller_flavor_still_counts_the_larger(plane: ControlPlane, cell: CellConductor) -> None:
    """It may be reverted."""
    (uuid,) = plane.build(flavor="large")
    plane.operate(uuid, "resize", flavor="small")
    plane.workers.work()
    assert usage(plane) == (4, 2048)


@pytest.mark.parametrize(
    ("limits", "is_allowed"),
    [({"cores": 3}, False), ({"ram": 2047}, False), ({"cores": 4, "ram": 2048}, True)],
    ids=["cores", "ram", "both fit"],
)
def test_a_resize_needs_quota_for_what_is_more(
    plane: ControlPlane, cell: CellConductor, uuid: str, limits: dict[str, int], is_allowed: bool
) -> None:
    """Nothing is stored when there is none."""
    limit(plane, **limits)
    if is_allowed:
        plane.operate(uuid, "resize", flavor="large")
        return
    with pytest.raises(exception.QuotaExceeded):
        plane.operate(uuid, "resize", flavor="large")
    assert (cell.begun, plane.left(), usage(plane)) == ([], [], (1, 512))


def test_a_smaller_flavor_needs_no_quota(plane: ControlPlane, cell: CellConductor) -> None:
    """Also when the project has more than it may by now."""
    (uuid,) = plane.build(flavor="large")
    limit(plane, cores=1, ram=1)
    plane.operate(uuid, "resize", flavor="small")


def test_a_resize_that_is_refused_for_another_move_counts_nothing(
    plane: ControlPlane, cell: CellConductor, uuid: str
) -> None:
    """What is counted and what is stored are one transaction."""
    plane.operate(uuid, "migrate", context=an_admin())
    with pytest.raises(exception.InstanceInvalidState, match="it is already being moved"):
        plane.operate(uuid, "resize", flavor="large")
    assert usage(plane) == (1, 512)


def test_a_second_resize_takes_nothing_from_what_the_first_counts(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """The first waits to be confirmed and may still be reverted to the larger flavor."""
    plane.add_flavor("middle", vcpus=2, memory_mb=1024)
    (uuid,) = plane.build(flavor="large")
    plane.operate(uuid, "resize", flavor="small")
    plane.workers.work()
    cell.refusal = exception.InstanceInvalidState(
        instance_uuid=uuid, operation="resize", reason="it is resized"
    )
    with pytest.raises(exception.InstanceInvalidState):
        plane.operate(uuid, "resize", flavor="middle")
    assert usage(plane) == (4, 2048)
