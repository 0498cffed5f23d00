"""Sequence of host state changes: a counter row, locked from each change until its commit.

Numbers therefore become visible in order: a reader that sees the counter at n sees every row up to
n. A transaction locks the counter after everything else, except for rows of compute nodes.
"""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common.cell_db import models

_ID = 1

PEEK = "SELECT value FROM host_state_seq WHERE id = 1"
"""SQL of :func:`current`, for ``Database.peek``."""


_TABLE: sa.Table = models.HostStateSeq.__table__  # type: ignore[assignment]
_CURRENT = sa.select(_TABLE.c.value).where(_TABLE.c.id == _ID)
_RAISE = sa.update(_TABLE).where(_TABLE.c.id == _ID).values(value=_TABLE.c.value + 1)


def current(session: Session) -> int:
    """Return the latest number."""
    return session.scalars(_CURRENT).one()


def removals_from(session: Session) -> int:
    """Return the number since which all removals of nodes are recorded."""
    query = sa.select(models.HostStateSeq.removals_from).where(models.HostStateSeq.id == _ID)
    return session.scalars(query).one()


def next_number(session: Session) -> int:
    """Take the next number; other transactions wait for it until this one ends."""
    session.flush()
    session.execute(_RAISE)
    return current(session)


def skip_to(session: Session, number: int) -> None:
    """Let the next number come after this one."""
    session.flush()
    is_behind = (_TABLE.c.id == _ID) & (_TABLE.c.value < number)
    session.execute(sa.update(_TABLE).where(is_behind).values(value=number))


def touch_hosts(session: Session, hosts: Collection[str | None]) -> None:
    """Give the nodes of these hosts the next number, as their host state has changed.

    All rows of one transaction share a number, since they become visible together.
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


def purge_removals(session: Session, *, before: datetime) -> int:
    """Delete the records of removals before a time; return how many."""
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
