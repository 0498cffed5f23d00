"""The number that grows with every change of what schedulers know: cells and aggregates."""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.api_db.models import FactsSeq

_ROW_ID = 1
_VALUE = sa.select(FactsSeq.value).where(FactsSeq.id == _ROW_ID)


def raise_seq(session: Session) -> None:
    """Count a change, in the transaction that makes it."""
    session.execute(
        sa.update(FactsSeq).where(FactsSeq.id == _ROW_ID).values(value=FactsSeq.value + 1)
    )


def get_seq(session: Session) -> int:
    """Return the number of the newest change."""
    return session.scalars(_VALUE).one()
