"""Idempotency records of HTTP requests, so that a repeat gets the first answer."""

from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord
from rpc.callers import API
from rpc.interface import Interface, call


class IdempotencyAPI(Interface):
    """Repeated HTTP requests, see ``armillary.idempotency.Records``."""

    @call(API)
    def begin_request(
        self, context: RequestContext, key: str, fingerprint: str
    ) -> IdempotencyRecord:
        """Store that a request is being handled, unless it was before; return its record.

        It counts as abandoned after some seconds, unless it is renewed all the time. Raises
        QuotaExceeded for a project with very many records.
        """

    @call(API)
    def renew_request(self, context: RequestContext, key: str, handler: str) -> None:
        """Store that a request is still being handled; ``handler`` as for ``abandon_request``."""

    @call(API)
    def keep_answer(self, context: RequestContext, key: str, answer: str) -> None:
        """Store the answer to a request for its repeats."""

    @call(API)
    def abandon_request(self, context: RequestContext, key: str, handler: str) -> None:
        """Have the next repeat handled again: the outcome of the request is unknown.

        ``handler`` is the request ID under which its handling began, which this ends.
        """

    @call(API)
    def forget_request(self, context: RequestContext, key: str, handler: str) -> None:
        """Delete the record of a request that was refused; ``handler`` as above."""
