"""Changes that a request makes once, noted in the transaction of the change.

A process may be killed between a commit and the answer, and a connection may be lost during the
commit: the request is then handled again. It must not be refused for what it did itself.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from sqlalchemy.orm import Session

from armillary.context import RequestContext
from armillary.db import idempotency
from armillary.idempotency import digest
from conductor.super_conductor.db import models

T = TypeVar("T")


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
        model = models.IdempotencyRecord
        known = idempotency.answers_of(session, model, [self.key])
        if known:
            return get(known[self.key])
        made = change()
        idempotency.add_answers(session, model, {self.key: (self.request_id, name(made))}, now)
        return made
