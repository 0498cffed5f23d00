"""Epoch row: serialises all writes, and tells readers whether they are up to date."""

from sqlalchemy import Row, select, text, update
from sqlalchemy.orm import Session

from placement.db.models import PlacementEpoch

_THE_ROW = PlacementEpoch.id == 1
_SELECT = select(
    PlacementEpoch.epoch, PlacementEpoch.facts_epoch, PlacementEpoch.forgotten_epoch
).where(_THE_ROW)
PEEK = "SELECT epoch FROM placement_epoch WHERE id = 1"
"""Query for new writes, for ``Database.peek``."""

_LOCK = _SELECT.with_for_update()
_UPDATE = update(PlacementEpoch.table()).where(_THE_ROW)


def get_epochs(session: Session) -> Row[int, int, int]:
    """Return ``epoch``, ``facts_epoch`` and ``forgotten_epoch``."""
    return session.execute(_SELECT).one()


def lock(session: Session) -> int:
    """Block all other writers until this transaction ends; return the epoch of this write.

    Must be the first statement, so that later reads see what previous writers committed.
    """
    return session.execute(_LOCK).one().epoch + 1


def publish_usage(session: Session, epoch: int) -> None:
    """Record that usage changed with ``epoch``."""
    session.execute(_UPDATE.values(epoch=epoch))


def publish_facts(session: Session, epoch: int) -> None:
    """Record that more than usage changed with ``epoch``."""
    session.execute(_UPDATE.values(epoch=epoch, facts_epoch=epoch))


def publish_forgotten(session: Session, forgotten_epoch: int) -> None:
    """Record that tombstones up to an epoch are gone."""
    session.execute(_UPDATE.values(forgotten_epoch=forgotten_epoch))


def begin_snapshot(session: Session) -> None:
    """Run all queries of this transaction on one snapshot; must be its first statement.

    SQLite does this by default.
    """
    if session.get_bind().dialect.name != "sqlite":
        session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
