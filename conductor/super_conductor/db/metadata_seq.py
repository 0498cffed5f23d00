"""Sequence number of the cluster metadata known to schedulers: cells and aggregates."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db.models import MetadataSeq

_ROW_ID = 1
_VALUE = sa.select(MetadataSeq.value).where(MetadataSeq.id == _ROW_ID)


def increment_seq(session: Session) -> None:
    """Increment the number, in the transaction of the change."""
    session.execute(
        sa.update(MetadataSeq).where(MetadataSeq.id == _ROW_ID).values(value=MetadataSeq.value + 1)
    )


def get_seq(session: Session) -> int:
    """Return the number of the latest change."""
    return session.scalars(_VALUE).one()


def share_seq(session: Session) -> None:
    """Keep others from changing the metadata until the transaction ends; it may be shared."""
    session.execute(_VALUE.with_for_update(read=True))
