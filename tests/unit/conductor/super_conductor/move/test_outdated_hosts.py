"""Hosts of older agents, as the super conductor sees them: no place for what moves."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.move.outdated_hosts import CACHE_SECONDS, OutdatedHosts
from tests.fixtures.control_plane import CellConductor, ControlPlane, an_admin


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    plane.map_hosts()
    (cell,) = plane.cells.values()
    return cell


def make_old(cell: CellConductor, host: str) -> None:
    cell.services = [
        one.with_values(version=2) if one.host == host else one for one in cell.services
    ]


def test_a_cell_is_asked_again_after_a_while(plane: ControlPlane, cell: CellConductor) -> None:
    """An agent that was upgraded takes moves soon."""
    assert plane.links is not None
    hosts = OutdatedHosts(plane.links, monotonic=plane.clock)
    assert list(hosts.list(an_admin(), cell.uuid)) == []
    make_old(cell, cell.services[0].host)
    assert list(hosts.list(an_admin(), cell.uuid)) == []
    plane.clock.advance(CACHE_SECONDS)
    assert list(hosts.list(an_admin(), cell.uuid)) == [cell.services[0].host]


def test_a_move_to_an_older_host_is_refused_by_its_name(
    plane: ControlPlane, cell: CellConductor
) -> None:
    """And nothing of it is stored."""
    (uuid,) = plane.build()
    here = cell.instances[uuid].host
    there = next(one.host for one in cell.services if one.host != here)
    make_old(cell, there)
    with pytest.raises(exception.HostTooOld, match=rf"{there}; upgrade armillary-compute"):
        plane.operations.operate(an_admin(), uuid, "migrate", {"host": there})


def test_a_move_leaves_older_hosts_out(plane: ControlPlane, cell: CellConductor) -> None:
    """The scheduler is asked without them."""
    (uuid,) = plane.build()
    here = cell.instances[uuid].host
    old = {one.host for one in cell.services if one.host != here}
    for host in old:
        make_old(cell, host)
    plane.operations.operate(an_admin(), uuid, "migrate", {})
    with plane.database.reader() as session:
        (arguments,) = session.scalars(sa.select(models.Move.arguments))
    assert set(arguments["ignore_hosts"]) == {*old, here}
