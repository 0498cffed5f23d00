"""Sequence number of the cluster metadata known to schedulers: cells and aggregates."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.super_conductor.db.models import MetadataSeq

_ROW_ID = 1
_VALUE = sa.select(MetadataSeq.value).where(MetadataSeq.id == _ROW_ID)
_HOSTS_VALUE = sa.select(MetadataSeq.hosts_value).where(MetadataSeq.id == _ROW_ID)


def increment_seq(session: Session) -> None:
    """Increment the number, in the transaction of the change."""
    session.execute(
        sa.update(MetadataSeq).where(MetadataSeq.id == _ROW_ID).values(value=MetadataSeq.value + 1)
    )


def host_taken(session: Session) -> None:
    """Increment the number for a change that takes a host from its cell."""
    increment_seq(session)
    session.execute(  # apart: MySQL sets columns one after the other, PostgreSQL all together
        sa.update(MetadataSeq)
        .where(MetadataSeq.id == _ROW_ID)
        .values(hosts_value=MetadataSeq.value)
    )


def get_seq(session: Session) -> int:
    """Return the number of the latest change."""
    return session.scalars(_VALUE).one()


def get_hosts_seq(session: Session) -> int:
    """Return the number of the last change that took a host from its cell."""
    return session.scalars(_HOSTS_VALUE).one()


def next_members_number(session: Session, *, after: int = 0) -> int:
    """Return the number of a message about an aggregate's members, greater than ``after``.

    Until this transaction ends no other one gets a number: a later message has what it reads now.
    """
    number = MetadataSeq.members_value
    last = sa.case((number < after, after), else_=number)
    session.execute(
        sa.update(MetadataSeq).where(MetadataSeq.id == _ROW_ID).values(members_value=last + 1)
    )
    return session.scalars(sa.select(number).where(MetadataSeq.id == _ROW_ID)).one()


def lock_seq(session: Session) -> None:
    """Lock the metadata against changes by other transactions until this one ends."""
    session.execute(_VALUE.with_for_update())
