"""Locks: who locked an instance, and what that means for the next one who does."""

from __future__ import annotations

import pytest

from armillary import exception
from armillary.context import RequestContext, admin_context
from compute_agent.interface import ComputeAPI
from conductor.cell_conductor.operations.locks_and_consoles import LocksAndConsoles
from conductor.common.cell_db import instances
from objects.instance import Instance
from tests import builders
from tests.fixtures.cell import Cell, a_build_request, cell
from tests.fixtures.control_plane import a_user

__all__ = ["cell"]


class Locks:
    """Locks and unlocks one instance."""

    def __init__(self, cell: Cell) -> None:
        cell.add_agent("a")
        request = a_build_request("a")
        cell.hand_over(request)
        cell.settle()
        self.uuid = request.instance_uuid
        self._cell = cell
        self.at_rest = LocksAndConsoles(
            database=cell.database, compute=ComputeAPI(cell.cell_bus), now=cell.clock
        )

    def lock(self, context: RequestContext, reason: str | None = None) -> None:
        self.at_rest.set_lock(context, self.uuid, locked=True, reason=reason)

    def unlock(self, context: RequestContext) -> None:
        self.at_rest.set_lock(context, self.uuid, locked=False, reason=None)

    @property
    def instance(self) -> Instance:
        with self._cell.database.reader() as session:
            return instances.get(session, self.uuid, cell_uuid=None)

    def seen(self) -> tuple[bool, str | None, str | None]:
        """Whether it is locked, by whom, and why."""
        found = self.instance
        return found.locked, found.locked_by, found.locked_reason


@pytest.fixture
def locks(cell: Cell) -> Locks:
    """Return an instance without a lock."""
    return Locks(cell)


def test_a_lock_says_whose_it_is(locks: Locks) -> None:
    """Until it goes."""
    assert locks.seen() == (False, None, None)
    locks.lock(a_user(), "mine")
    assert locks.seen() == (True, "owner", "mine")
    locks.lock(admin_context(), "it burns")
    assert locks.seen() == (True, "admin", "it burns")
    locks.unlock(admin_context())
    assert locks.seen() == (False, None, None)


def test_an_owner_does_not_take_an_administrators_lock_over(locks: Locks) -> None:
    """Else it could be unlocked with it."""
    locks.lock(admin_context(), "it burns")
    locks.lock(a_user(), "mine")
    assert locks.seen() == (True, "admin", "it burns")


def test_who_is_not_there_is_not_locked(locks: Locks) -> None:
    """For any caller."""
    with pytest.raises(exception.InstanceNotFound):
        locks.at_rest.set_lock(admin_context(), builders.a_uuid(), locked=True, reason=None)
