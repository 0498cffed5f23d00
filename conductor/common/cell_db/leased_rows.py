"""Queries that all tables of leased work on instances have: builds, deletes and operations."""

from collections.abc import Collection, Sequence
from typing import Generic, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.orm.interfaces import ORMOption

from conductor.common.cell_db import models

Row = TypeVar("Row", models.InstanceBuild, models.InstanceDelete, models.InstanceOperation)


class LeasedRows(Generic[Row]):
    """Rows of one table. Statements are built once: building costs more than executing."""

    def __init__(self, model: type[Row]) -> None:
        self.model: type[Row] = model
        self._by_uuids: sa.Select[Row] = sa.select(model).where(
            model.instance_uuid.in_(sa.bindparam("uuids", expanding=True))
        )
        self._locking: sa.Select[Row] = (
            self._by_uuids.order_by(model.instance_uuid)
            .with_for_update()
            .execution_options(populate_existing=True)
        )

    def list_by_uuids(self, session: Session, instance_uuids: Collection[str]) -> Sequence[Row]:
        """Return the rows of these instances, for reading."""
        return session.scalars(self._by_uuids, {"uuids": [*instance_uuids]}).all()

    def lock(self, session: Session, instance_uuid: str) -> Row | None:
        """Lock a row, after its instance; None if there is none."""
        return self.lock_all(session, [instance_uuid]).get(instance_uuid)

    def lock_all(
        self, session: Session, instance_uuids: Collection[str], *options: ORMOption
    ) -> dict[str, Row]:
        """Lock rows, after their instances; return them by instance."""
        query = self._locking.options(*options) if options else self._locking
        found = session.scalars(query, {"uuids": [*instance_uuids]})
        return {row.instance_uuid: row for row in found}
