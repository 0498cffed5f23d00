"""The sequence of changes to host states: one counter row, locked from a change to its commit.

So numbers become visible in their order: whoever sees the counter at n sees every row up to n. The
counter is the last thing that a transaction locks, but for rows of compute nodes.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.cell_db import models

_ID = 1

PEEK = "SELECT value FROM host_state_seq WHERE id = 1"
"""The question for :func:`current`, for ``Database.peek``."""


_TABLE: sa.Table = models.HostStateSeq.__table__  # type: ignore[assignment]
_CURRENT = sa.select(_TABLE.c.value).where(_TABLE.c.id == _ID)
_RAISE = sa.update(_TABLE).where(_TABLE.c.id == _ID).values(value=_TABLE.c.value + 1)


def current(session: Session) -> int:
    """Return the last number that was given."""
    return session.scalars(_CURRENT).one()


def removals_from(session: Session) -> int:
    """Return the number after which all removals of nodes are still known."""
    query = sa.select(models.HostStateSeq.removals_from).where(models.HostStateSeq.id == _ID)
    return session.scalars(query).one()


def next_number(session: Session) -> int:
    """Take the next number; others wait until this transaction ends."""
    session.flush()
    session.execute(_RAISE)
    return current(session)


def touch_hosts(session: Session, hosts: Collection[str | None]) -> None:
    """Give the nodes of these hosts the next number: their host state changed in this transaction.

    All rows of one transaction share a number: they become visible together.
    """
    named = sorted({host for host in hosts if host is not None})
    if not named:
        return
    session.execute(
        sa.update(models.ComputeNode)
        .where(models.ComputeNode.host.in_(named))
        .values(seq=next_number(session))
        .execution_options(synchronize_session=False)
    )


def forget_removals(session: Session, *, before: datetime) -> int:
    """Forget removals older than a moment; return how many."""
    last = session.scalar(
        sa.select(sa.func.max(models.NodeRemoval.seq)).where(models.NodeRemoval.removed_at < before)
    )
    if last is None:
        return 0
    session.execute(
        sa.update(models.HostStateSeq)
        .where(models.HostStateSeq.id == _ID, models.HostStateSeq.removals_from < last)
        .values(removals_from=last)
        .execution_options(synchronize_session=False)
    )
    forgotten = session.execute(
        sa.delete(models.NodeRemoval)
        .where(models.NodeRemoval.seq <= last)
        .execution_options(synchronize_session=False)
    )
    return int(forgotten.rowcount)  # type: ignore[attr-defined]
