"""Idempotency records in a database: which requests were received, and how they were answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import sqlalchemy as sa
from oslo_db.exception import DBDuplicateEntry
from sqlalchemy.dialects import mysql
from sqlalchemy.orm import Mapped, Session, declared_attr, mapped_column

from armillary import exception
from armillary.db.database import Database
from armillary.idempotency import (
    HANDLED_SECONDS_MAX,
    RENEWED_SECONDS_MAX,
    IdempotencyRecord,
    digest,
)

KEPT_SECONDS = 86_400.0
"""Seconds for which a record is kept."""

RECORDS_PER_OWNER_MAX = 100_000
ANSWER_BYTES_PER_OWNER_MAX = 64 * 1024**2
"""Of what is kept at a time for the requests of one project."""
_COUNTED_EVERY = 100
_OWNERS_MAX = 10_000
"""Owners whose records a process has counted; with more, it counts again."""

_BATCH_SIZE = 500
_UNSYNCED: dict[str, Any] = {"execution_options": {"synchronize_session": False}}

TABLE = "idempotency_records"
_ANSWER = sa.Text().with_variant(mysql.MEDIUMTEXT(), "mysql", "mariadb")
_KEY_LENGTH = 64
_NO_HANDLER = ""
"""Of an abandoned request."""
_REQUEST_ID_LENGTH = 255


class IdempotencyRecordMixin:
    """Columns of the table. ``begun_at``, or when it was renewed, is in seconds since 1970.

    ``answer`` None: none yet.

    ``handler`` is the time of the request that is being handled, at first the one with its
    ``request_id``. ``owner`` is a digest of the project whose request it
    is; empty for those of services.
    """

    __tablename__ = TABLE

    request_key: Mapped[str] = mapped_column(sa.String(_KEY_LENGTH), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(sa.String(_KEY_LENGTH))
    request_id: Mapped[str] = mapped_column(sa.String(_REQUEST_ID_LENGTH))
    begun_at: Mapped[float] = mapped_column(sa.Double, index=True)
    handler: Mapped[str] = mapped_column(
        sa.String(_REQUEST_ID_LENGTH), default="", server_default=""
    )
    answer: Mapped[str | None] = mapped_column(_ANSWER)
    owner: Mapped[str] = mapped_column(sa.String(_KEY_LENGTH), default="", server_default="")
    answer_bytes: Mapped[int] = mapped_column(sa.Integer, default=0, server_default="0")

    @declared_attr.directive
    def __table_args__(cls) -> tuple[sa.Index, ...]:  # noqa: N805 - of the class that has the table
        return (sa.Index(f"ix_{TABLE}_owner", "owner", "answer_bytes"),)


def create_table() -> None:
    """Create the table, in a migration."""
    from alembic import op  # only migrations need it, and it takes long to load

    op.create_table(
        TABLE,
        sa.Column("request_key", sa.String(_KEY_LENGTH), primary_key=True),
        sa.Column("fingerprint", sa.String(_KEY_LENGTH), nullable=False),
        sa.Column("request_id", sa.String(_REQUEST_ID_LENGTH), nullable=False),
        sa.Column("begun_at", sa.Double, nullable=False),
        sa.Column("handler", sa.String(_REQUEST_ID_LENGTH), nullable=False, server_default=""),
        sa.Column("answer", _ANSWER),
        sa.Column("owner", sa.String(_KEY_LENGTH), nullable=False, server_default=""),
        sa.Column("answer_bytes", sa.Integer, nullable=False, server_default="0"),
    )
    op.create_index(f"ix_{TABLE}_owner", TABLE, ["owner", "answer_bytes"])
    op.create_index(f"ix_{TABLE}_begun_at", TABLE, ["begun_at"])


def answers_of(session: Session, model: Any, keys: Iterable[str]) -> dict[str, str]:
    """Return the stored answers by key, inside a transaction of the receiver."""
    query = sa.select(model.request_key, model.answer).where(model.request_key.in_(list(keys)))
    return {key: answer for key, answer in session.execute(query) if answer is not None}


def add_answers(
    session: Session, model: Any, answers: Mapping[str, tuple[str, str]], now: float
) -> None:
    """Store key -> (request ID, answer), in the transaction that does what they answer."""
    rows = [
        {
            "request_key": key,
            "fingerprint": "",
            "request_id": asked,
            "begun_at": now,
            "answer": answer,
        }
        for key, (asked, answer) in answers.items()
    ]
    if rows:
        session.execute(sa.insert(model), rows)


class IdempotencyRecords:
    """The records in one database, see ``Records``; any number of processes share it."""

    def __init__(self, database: Database, model: Any, now: Callable[[], float]) -> None:
        self._database = database
        self._model = model
        self._now = now
        self._lock = threading.Lock()
        self._begun: dict[str, int] = {}

    def begin(
        self,
        key: str,
        *,
        fingerprint: str = "",
        request_id: str = "",
        owner: str = "",
        handler: str | None = None,
        is_renewed: bool = False,
    ) -> IdempotencyRecord:
        owner = digest("owner", owner) if owner else ""
        self._check_owner(owner)
        row = {
            "request_key": key,
            "fingerprint": fingerprint,
            "request_id": request_id,
            "begun_at": self._now(),
            "owner": owner,
            "handler": request_id if handler is None else handler,
        }
        insert = sa.insert(self._model.__table__).values(row)
        try:
            self._database.run_in_writer(lambda session: session.execute(insert))
        except DBDuplicateEntry:  # a repeat; nearly every request is none
            seconds = RENEWED_SECONDS_MAX if is_renewed else HANDLED_SECONDS_MAX
            return self._database.run_in_writer(self._begin, row, seconds)
        return IdempotencyRecord(True, fingerprint, request_id)

    def _check_owner(self, owner: str) -> None:
        """Raise QuotaExceeded for an owner with very many records; counts occasionally."""
        if not owner or not self._is_to_count(owner):
            return
        model = self._model
        query = sa.select(
            sa.func.count(), sa.func.coalesce(sa.func.sum(model.answer_bytes), 0)
        ).where(model.owner == owner)
        with self._database.reader() as session:
            records, answer_bytes = session.execute(query).one()
        for resource, used, limit in (
            ("idempotency_keys", records, RECORDS_PER_OWNER_MAX),
            ("idempotency_answer_bytes", int(answer_bytes), ANSWER_BYTES_PER_OWNER_MAX),
        ):
            if used >= limit:
                with self._lock:
                    self._begun.pop(owner, None)  # it is counted each time from now on
                raise exception.QuotaExceeded(
                    resource=resource, requested=1, used=used, limit=limit
                )

    def _is_to_count(self, owner: str) -> bool:
        with self._lock:
            if len(self._begun) >= _OWNERS_MAX:
                self._begun.clear()
            begun = self._begun.get(owner, _COUNTED_EVERY)
            self._begun[owner] = 1 if begun >= _COUNTED_EVERY else begun + 1
        return begun >= _COUNTED_EVERY

    def _begin(
        self, session: Session, new: Mapping[str, Any], seconds_max: float
    ) -> IdempotencyRecord:
        row = session.get(self._model, new["request_key"], with_for_update=True)
        if row is None:
            session.add(self._model(**new))
            return IdempotencyRecord(True, new["fingerprint"], new["request_id"])
        is_ours = (
            row.answer is None
            and row.fingerprint == new["fingerprint"]
            and (row.handler == new["handler"] or not new["begun_at"] - row.begun_at < seconds_max)
        )
        if is_ours:
            row.begun_at, row.handler = new["begun_at"], new["handler"]
        return IdempotencyRecord(is_ours, row.fingerprint, row.request_id, row.answer)

    def keep(self, key: str, answer: str) -> None:
        self._run(self._unanswered(sa.update, key).values(answer=answer, answer_bytes=len(answer)))

    def renew(self, key: str, handler: str) -> None:
        handled = self._unanswered(sa.update, key).where(self._model.handler == handler)
        self._run(handled.values(begun_at=self._now()))

    def abandon(self, key: str, handler: str) -> None:
        long_ago = self._now() - HANDLED_SECONDS_MAX
        handled = self._unanswered(sa.update, key).where(self._model.handler == handler)
        self._run(handled.values(begun_at=long_ago, handler=_NO_HANDLER))

    def forget(self, key: str, handler: str) -> None:
        first_time = self._unanswered(sa.delete, key).where(
            self._model.handler == handler, self._model.request_id == handler
        )
        if not self._run(first_time).rowcount:
            self.abandon(key, handler)

    def _unanswered(self, statement: Callable[[Any], Any], key: str) -> Any:
        model = self._model
        return statement(model.__table__).where(model.request_key == key, model.answer.is_(None))

    def _run(self, statement: Any) -> Any:
        return self._database.run_in_writer(lambda session: session.execute(statement))


def delete_old(database: Database, model: Any, *, now: float) -> None:
    """Delete records older than ``KEPT_SECONDS``, one batch a transaction."""
    query = sa.select(model.request_key).where(model.begun_at < now - KEPT_SECONDS)

    def delete_batch(session: Session) -> int:
        keys = session.scalars(query.limit(_BATCH_SIZE)).all()
        if keys:
            session.execute(sa.delete(model).where(model.request_key.in_(keys)), **_UNSYNCED)
        return len(keys)

    while database.run_in_writer(delete_batch) == _BATCH_SIZE:
        pass
