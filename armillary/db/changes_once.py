"""Changes that a request makes once, noted in the transaction of the change.

A process may be killed between a commit and the answer, and a connection may be lost during the
commit: the request is then handled again. It must not be refused for what it did itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db.idempotency import TABLE
from armillary.idempotency import digest

T = TypeVar("T")

_COLUMNS = ("request_key", "fingerprint", "request_id", "begun_at", "answer")
_RECORDS = sa.table(TABLE, *map(sa.column, _COLUMNS))
"""The idempotency records of the database, whichever it is."""


@dataclasses.dataclass(frozen=True)
class ChangeOnce:
    """A change that a request makes once, see ``of``."""

    key: str
    request_id: str

    @classmethod
    def of(cls, context: RequestContext, change: str, *arguments: Any) -> ChangeOnce:
        """Return the change with these arguments: each repeat of the request has the same one."""
        request_id = str(context.request_id)
        return cls(digest("change", request_id, change, arguments), request_id)

    def run(
        self,
        session: Session,
        change: Callable[[], T],
        *,
        name: Callable[[T], str] = lambda _made: "",
        get: Callable[[str], T],
        now: float,
    ) -> T:
        """Make the change, or ``get`` what it made when the request was handled before.

        ``name`` returns what ``get`` is given: it must not be what others can change.
        """
        known = self.find(session)
        if known is not None:
            return get(known)
        made = change()
        self.note(session, name(made), now=now)
        return made

    def find(self, session: Session) -> str | None:
        """Return the name of what the change made, None if it was not made yet."""
        query = sa.select(_RECORDS.c.answer).where(_RECORDS.c.request_key == self.key)
        return session.scalar(query)

    def note(self, session: Session, name: str, *, now: float) -> None:
        """Store that the change was made, and the name of what it made."""
        values = (self.key, "", self.request_id, now, name)
        session.execute(sa.insert(_RECORDS).values(dict(zip(_COLUMNS, values, strict=True))))
