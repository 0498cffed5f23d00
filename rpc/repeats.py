"""Repeated calls: how each method stays right when its message is redelivered, even late."""

from __future__ import annotations

import contextlib
import functools
import json
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, TypeGuard

from armillary import exception
from armillary.backoff import Backoff
from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord, Records, digest
from armillary.renewals import Renewals

Handler = Callable[..., Any]
"""Takes the context and, by name, the arguments of a message."""

WAIT_SECONDS_MAX = 20.0
"""Seconds for which a repeat waits for the answer to its first time."""
_WAIT = Backoff(0.05, 1.0)

_REFUSALS = (
    exception.NotFound, exception.Exists, exception.Conflict, exception.Forbidden,
    exception.Invalid, exception.NoValidHost,
)  # fmt: skip
"""Errors that say that nothing was done; after any other the outcome is unknown."""
_NOT_OF_THE_REQUEST = (exception.RpcVersionTooOld, exception.ConfigurationError)
"""Those of them that may be gone at the next try."""
_ERROR, _ANSWER = "error", "answer"


def answering_repeats(
    topic: str,
    method: str,
    handler: Handler,
    serialize: Callable[[RequestContext, Any], Any],
    records: Records,
    renewals: Renewals | None = None,
) -> Handler:
    """Wrap the handler of a method: a repeat gets the stored answer, or the stored refusal.

    Arguments and answers are in wire form. With ``renewals``, the record of a call is renewed while
    it is handled, so that a repeat need not wait long after the death of a process.
    """
    is_renewed = renewals is not None

    def handle(context: RequestContext, /, **arguments: Any) -> Any:
        key = digest(context.request_id, topic, method, _sender(context), arguments)
        delivery = uuid.uuid4().hex
        record = _begun(records, key, context, delivery, is_renewed=is_renewed)
        if not record.is_new:
            return _again(method, topic, record)
        try:
            with _renewed(renewals, lambda: records.renew(key, delivery)):
                answer = serialize(context, handler(context, **arguments))
        except Exception as error:
            if not _is_refusal(error):
                records.abandon(key, delivery)
                raise
            records.keep(key, json.dumps({_ERROR: _described(error)}, default=str))
            raise
        records.keep(key, json.dumps({_ANSWER: answer}))
        return answer

    return handle


def _renewed(
    renewals: Renewals | None, renew: Callable[[], None]
) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext() if renewals is None else renewals.during(renew)


def _sender(context: RequestContext) -> list[str | None]:
    """Return what another process that repeats a call signs as, too."""
    signer = context.signer
    return [] if signer is None else [signer.role, signer.scope]


def _begun(
    records: Records, key: str, context: RequestContext, delivery: str, *, is_renewed: bool
) -> IdempotencyRecord:
    """Return the record of a call; wait while its first time is being handled."""
    begin = functools.partial(
        records.begin, key, request_id=context.request_id, handler=delivery, is_renewed=is_renewed
    )
    waited, tries = 0.0, 0
    record = begin()
    while not record.is_new and record.answer is None and waited < WAIT_SECONDS_MAX:
        seconds = _WAIT.seconds(tries)
        time.sleep(seconds)
        waited, tries = waited + seconds, tries + 1
        record = begin()
    return record


def _again(method: str, topic: str, record: IdempotencyRecord) -> Any:
    if record.answer is None:
        raise exception.RpcTimeout(method=method, topic=topic, timeout_seconds=WAIT_SECONDS_MAX)
    stored = json.loads(record.answer)
    if _ERROR in stored:
        raise _rebuilt(stored[_ERROR])
    return stored[_ANSWER]


def _is_refusal(error: Exception) -> TypeGuard[exception.ArmillaryError]:
    return isinstance(error, _REFUSALS) and not isinstance(error, _NOT_OF_THE_REQUEST)


def _described(error: exception.ArmillaryError) -> dict[str, Any]:
    return {"class": type(error).__name__, "message": error.message, "kwargs": error.kwargs}


def _rebuilt(stored: Mapping[str, Any]) -> exception.ArmillaryError:
    kind: type[exception.ArmillaryError] = getattr(exception, stored["class"])
    return kind(stored["message"], **stored["kwargs"])
