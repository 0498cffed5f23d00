"""Idempotency records of a caller, which the super conductor keeps."""

from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord
from conductor.super_conductor.interface import SuperConductorAPI


class IdempotencyRecords:
    """See ``armillary.idempotency.Records``; the caller's context has the rest."""

    def __init__(self, conductor: SuperConductorAPI, context: RequestContext) -> None:
        self._conductor = conductor
        self._context = context

    def begin(
        self, key: str, *, fingerprint: str = "", **_of_the_caller: str | bool | None
    ) -> IdempotencyRecord:
        return self._conductor.begin_request(self._context, key, fingerprint)

    def keep(self, key: str, answer: str) -> None:
        self._conductor.keep_answer(self._context, key, answer)

    def renew(self, key: str, handler: str) -> None:
        self._conductor.renew_request(self._context, key, handler)

    def abandon(self, key: str, handler: str) -> None:
        self._conductor.abandon_request(self._context, key, handler)

    def forget(self, key: str, handler: str) -> None:
        self._conductor.forget_request(self._context, key, handler)
