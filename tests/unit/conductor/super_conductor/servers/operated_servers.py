"""A server of one cell for operations, and the quota that it uses."""

from typing import Any

import pytest

from conductor.super_conductor.db.catalogue import quotas
from tests.fixtures.control_plane import ControlPlane
from tests.fixtures.super_conductor.fake_cell_conductor import CellConductor


@pytest.fixture
def cell(plane: ControlPlane) -> CellConductor:
    """Return the one cell; its hosts are mapped, and there is a larger flavor."""
    plane.add_flavor("large", vcpus=4, memory_mb=2048)
    plane.map_hosts()
    (cell,) = plane.cells.values()
    return cell


@pytest.fixture
def uuid(plane: ControlPlane, cell: CellConductor) -> str:
    """Have an active server of project p1 on the first host."""
    (uuid,) = plane.build()
    return uuid


def change(cell: CellConductor, uuid: str, **values: Any) -> None:
    cell.instances[uuid] = cell.instances[uuid].with_values(**values)


def usage(plane: ControlPlane) -> tuple[int, int]:
    used = plane.database.read(quotas.count_usage, "p1")
    return used["cores"], used["ram"]


def limit(plane: ControlPlane, **limits: int) -> None:
    with plane.database.writer() as session:
        quotas.set_limits(session, "p1", limits)
