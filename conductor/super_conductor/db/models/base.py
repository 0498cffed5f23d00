"""Registry, column types and lengths of the tables of the API database."""

from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase

from armillary.context import RequestContext
from armillary.db.idempotency import IdempotencyRecordMixin
from conductor.common import stored_contexts
from conductor.common.cell_db.models import UtcDateTime

NAME_LENGTH = 255
UUID_LENGTH = 36
WORD_LENGTH = 36
ZONE_NAME_LENGTH = 64
ZONE_PATH_LENGTH = 700
"""Maximum length of a path as text: at least ten zone names."""


class StoredContext(sa.TypeDecorator[RequestContext]):
    """A request's context without its token, as JSON."""

    impl = sa.JSON
    cache_ok = True

    def process_bind_param(self, value: RequestContext | None, dialect: sa.Dialect) -> Any:
        return None if value is None else stored_contexts.to_plain(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> RequestContext | None:
        return None if value is None else stored_contexts.from_plain(value)


class Base(DeclarativeBase):
    """Registry of the tables of the API database."""

    metadata = sa.MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 - SQLAlchemy declares it so
        datetime: UtcDateTime,
        RequestContext: StoredContext,
        dict[str, Any]: sa.JSON(none_as_null=True),
        dict[str, str]: sa.JSON(none_as_null=True),
        list[Any]: sa.JSON(none_as_null=True),
    }


class IdempotencyRecord(IdempotencyRecordMixin, Base):
    """A received request and its answer."""
