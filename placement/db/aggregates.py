"""Queries about aggregates: who is in one, and writing what is different.

All need the epoch's lock.
"""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import bindparam, delete, select
from sqlalchemy.orm import Session

from placement.db import epochs, names, providers
from placement.db.models import ResourceProviderAggregate
from placement.db.statements import any_of, execute_in, insert_rows

_MEMBER = ResourceProviderAggregate.table()
_REMOVE = delete(_MEMBER).where(
    _MEMBER.c.aggregate_id == bindparam("aggregate"), _MEMBER.c.resource_provider_id.in_(any_of())
)


def set_members(
    session: Session, aggregate: str, provider_ids: Collection[int], epoch: int
) -> None:
    """Make an aggregate hold exactly these providers."""
    number = names.aggregate_ids(session, [aggregate])[aggregate]
    members = select(_MEMBER.c.resource_provider_id).where(_MEMBER.c.aggregate_id == number)
    present, wanted = set(session.scalars(members)), set(provider_ids)
    if present == wanted:
        return
    execute_in(session, _REMOVE, present - wanted, aggregate=number)
    added = [
        {"resource_provider_id": provider_id, "aggregate_id": number}
        for provider_id in wanted - present
    ]
    insert_rows(session, _MEMBER, added)
    providers.touch(session, present ^ wanted, epoch)
    epochs.publish_facts(session, epoch)
