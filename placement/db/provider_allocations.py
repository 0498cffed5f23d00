"""Query for the allocations on some providers."""

from __future__ import annotations

from collections.abc import Collection

from sqlalchemy import select
from sqlalchemy.orm import Session

from placement.db.models import Allocation, Consumer, ResourceClass, ResourceProvider
from placement.db.statements import AnyRow, any_of, rows_in

_HELD_OF = (
    select(
        ResourceProvider.uuid.label("provider_uuid"),
        Consumer.uuid,
        Consumer.generation,
        Consumer.consumer_type,
        ResourceClass.name.label("resource_class"),
        Allocation.amount,
    )
    .join(Allocation, Allocation.resource_provider_id == ResourceProvider.id)
    .join(Consumer, Consumer.uuid == Allocation.consumer_uuid)
    .join(ResourceClass, ResourceClass.id == Allocation.resource_class_id)
    .where(ResourceProvider.uuid.in_(any_of()))
    .order_by(ResourceProvider.uuid, Consumer.uuid, ResourceClass.name)
)


def list_of(session: Session, providers: Collection[str]) -> list[AnyRow]:
    """Return one row per provider, consumer and class."""
    return list(rows_in(session, _HELD_OF, providers))
