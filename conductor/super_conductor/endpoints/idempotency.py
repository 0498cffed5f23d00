"""Idempotency records of the API's requests."""

from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord, Records


class IdempotencyEndpoint:
    """See ``SuperConductorAPI``."""

    def __init__(self, records: Records) -> None:
        self._records = records

    def begin_request(
        self, context: RequestContext, key: str, fingerprint: str
    ) -> IdempotencyRecord:
        owner = context.project_id or context.user_id or ""
        return self._records.begin(
            key, fingerprint=fingerprint, request_id=context.request_id, owner=owner,
            is_renewed=True,
        )  # fmt: skip

    def renew_request(self, context: RequestContext, key: str, handler: str) -> None:
        self._records.renew(key, handler)

    def keep_answer(self, context: RequestContext, key: str, answer: str) -> None:
        self._records.keep(key, answer)

    def abandon_request(self, context: RequestContext, key: str, handler: str) -> None:
        self._records.abandon(key, handler)

    def forget_request(self, context: RequestContext, key: str, handler: str) -> None:
        self._records.forget(key, handler)
