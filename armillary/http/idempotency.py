"""Idempotency-Key: a client that lost an answer repeats its POST, and gets the first answer.

The header is that of the IETF draft "The Idempotency-Key HTTP Header Field". For a day the same
key, project, user and request get the same answer; the key with another request is answered 422.
Refused requests are not stored, so that they fill no database; a repeat is refused again.
Answers are stored encrypted, with a key made from the client's, which is not stored: they may
contain passwords. A key that could be guessed protects none, so its answers are stored without.
"""

import base64
import hashlib
import json
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import falcon
from cryptography.fernet import Fernet

from armillary import exception
from armillary.backoff import Backoff
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from armillary.http.call import Document
from armillary.idempotency import HANDLED_SECONDS_MAX, IdempotencyRecord, Records, digest
from armillary.renewals import Renewals

LOG = logging.getLogger(__name__)

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotent-Replayed"
KEY_CHARACTERS_MAX = 255
ANSWER_BYTES_MAX = 65_536
"""A longer answer is not stored; a repeat of its request is carried out again."""
RETRY_AFTER_SECONDS = 1
SECRET_KEY_CHARACTERS_MIN = 20
"""A shorter key could be guessed from its stored digest; a UUID has 32 characters or more."""
_SECRET_FIELDS = frozenset({"adminPass", "private_key", "link", "url"})
"""Of answers: a server's password, a made key, the one-time links to both kinds of consoles."""
_LATER_CHANGES_MAX = 1000
_LATER_BACKOFF = Backoff(0.2, 2.0)
_NOT_STORED = "The answer cannot be stored for repeats of its request"

_STORED_HEADERS = ("content-type", "location")

RecordsOf = Callable[[RequestContext], Records]
"""Returns where a caller's records are kept."""


class Idempotency:
    """Middleware, after authentication: answers repeated POSTs.

    A request with a key that cannot be guessed has a ``repeat_secret`` in its context, which is the
    same for each repeat and known to the client alone: what a handler makes up may follow from it.
    A request whose earlier time has an unknown outcome ``is_repeat``.
    ``read_body`` returns the body in a form that JSON can express.
    """

    def __init__(self, records_of: RecordsOf, read_body: Callable[[falcon.Request], Any]) -> None:
        self._records_of = records_of
        self._read_body = read_body
        self._later = _LaterChanges()
        self._renewals = Renewals()

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: Document
    ) -> None:
        """Raise HTTPBadRequest, HTTPConflict, HTTPUnprocessableEntity."""
        sent, caller = req.get_header(HEADER), getattr(req.context, "caller", None)
        if sent is None or req.method != "POST" or caller is None:
            return
        key = _checked(sent)
        owner = (caller.project_id, caller.user_id)
        record_key, fingerprint = digest("http", *owner, key), self._fingerprint(req)
        records, handler = self._records_of(caller), req.context.request_id
        try:
            record = records.begin(
                record_key,
                fingerprint=fingerprint,
                request_id=handler,
                owner=caller.project_id or caller.user_id or "",
                is_renewed=True,
            )
        except exception.Unavailable:  # it may have begun, and it is not handled now
            self._later.add(lambda: records.abandon(record_key, handler))
            raise
        if record.fingerprint != fingerprint:
            raise falcon.HTTPUnprocessableEntity(
                description=f"The {HEADER} was used for another request. "
                "Send a new key with each request that is not a repeat."
            )
        cipher = _cipher(key, *owner)
        if not record.is_new:
            _replay(resp, record, cipher)
            return
        # A request that was abandoned continues under its first ID, by which the services know it.
        req.context.request_id = caller.request_id = record.request_id
        req.context.is_repeat = record.request_id != handler
        is_secret = len(key) >= SECRET_KEY_CHARACTERS_MIN
        if is_secret:
            req.context.repeat_secret = _secret(key, *owner, fingerprint)
        req.context.answer_once = _AnswerOnce(
            records, record_key, handler, cipher, self._later, is_secret=is_secret
        )
        self._renewals.add(req.context.answer_once, lambda: records.renew(record_key, handler))

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        once: _AnswerOnce | None = getattr(req.context, "answer_once", None)
        if once is not None:
            self._renewals.end(once)
            once.answered(resp)

    def _fingerprint(self, req: falcon.Request) -> str:
        return digest(
            req.method, req.path, req.query_string, req.context.version, self._read_body(req)
        )


class _LaterChanges:
    """Changes of records that failed, tried again in the background while that is of use.

    Without them a repeat would be refused, as still being handled, until its record counts as
    abandoned by itself, although the part that was unreachable is back.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pool: WorkerPool | None = None

    def add(self, change: Callable[[], None]) -> None:
        """Try a change until it succeeds, for ``HANDLED_SECONDS_MAX``."""
        ends_at = time.monotonic() + HANDLED_SECONDS_MAX
        try:
            self._worker().submit(self._try, change, ends_at)
        except WorkerPoolFull as error:
            LOG.warning("%s: %s", _NOT_STORED, error)

    def _worker(self) -> WorkerPool:
        """Return the pool, made at the first use: a process may be forked before."""
        with self._lock:
            if self._pool is None:
                self._pool = WorkerPool(1, "idempotency", _LATER_CHANGES_MAX)
            return self._pool

    def _try(self, change: Callable[[], None], ends_at: float) -> None:
        retries = 0
        while time.monotonic() < ends_at:
            try:
                change()
            except exception.Unavailable:
                time.sleep(_LATER_BACKOFF.seconds(retries))
                retries += 1
            except exception.ArmillaryError as error:
                LOG.warning("%s: %s", _NOT_STORED, error)
                return
            else:
                return


class _AnswerOnce:
    """The record of a request that is being handled."""

    def __init__(
        self,
        records: Records,
        record_key: str,
        handler: str,
        cipher: Fernet,
        later: _LaterChanges,
        *,
        is_secret: bool,
    ) -> None:
        self._is_secret = is_secret
        self._later = later
        self._records = records
        self._record_key = record_key
        self._handler = handler
        self._cipher = cipher

    def answered(self, resp: falcon.Response) -> None:
        """Store an answer to what was carried out; what was refused changed nothing."""
        change = self._change_for(resp)
        try:
            change()
        except exception.Unavailable as error:
            LOG.info("The answer cannot be stored for repeats of its request yet: %s", error)
            self._later.add(change)
        except exception.ArmillaryError as error:
            LOG.warning("%s: %s", _NOT_STORED, error)

    def _change_for(self, resp: falcon.Response) -> Callable[[], None]:
        records, record_key, handler = self._records, self._record_key, self._handler
        body = None if resp.stream is not None else resp.render_body() or b""
        if resp.status_code >= 500 or body is None or len(body) > ANSWER_BYTES_MAX:
            return lambda: records.abandon(record_key, handler)
        if resp.status_code >= 400:
            return lambda: records.forget(record_key, handler)
        answer = self._encrypted(resp, body)
        return lambda: records.keep(record_key, answer)

    def _encrypted(self, resp: falcon.Response, body: bytes) -> str:
        headers = {name: resp.get_header(name) for name in _STORED_HEADERS}
        if not self._is_secret and any(f'"{name}"'.encode() in body for name in _SECRET_FIELDS):
            body = json.dumps(_without_secrets(json.loads(body))).encode()
        answer = {"status": resp.status_code, "headers": headers, "body": body.decode()}
        return self._cipher.encrypt(json.dumps(answer).encode()).decode()


def _checked(sent: str) -> str:
    """Return the key, which may be quoted. Raises HTTPBadRequest."""
    key = sent.strip()
    if len(key) >= 2 and key[0] == key[-1] == '"':
        key = key[1:-1]
    if not (0 < len(key) <= KEY_CHARACTERS_MAX and key.isascii() and key.isprintable()):
        raise falcon.HTTPBadRequest(
            description=f"The {HEADER} must have 1 to {KEY_CHARACTERS_MAX} printable ASCII "
            "characters; a UUID is best."
        )
    return key


def _without_secrets(value: Any) -> Any:
    """Return a JSON document with nothing in its secret fields."""
    if isinstance(value, dict):
        return {
            name: "" if name in _SECRET_FIELDS else _without_secrets(item)
            for name, item in value.items()
        }
    return [_without_secrets(item) for item in value] if isinstance(value, list) else value


def _cipher(*secret: str | None) -> Fernet:
    return Fernet(base64.urlsafe_b64encode(_secret(*secret)))


def _secret(*parts: str | None) -> bytes:
    return hashlib.sha256(json.dumps(parts).encode()).digest()


def _replay(resp: falcon.Response, record: IdempotencyRecord, cipher: Fernet) -> None:
    if record.answer is None:
        raise falcon.HTTPConflict(
            description="The first request with this key is still being handled.",
            headers={"Retry-After": str(RETRY_AFTER_SECONDS)},
        )
    answer = json.loads(cipher.decrypt(record.answer.encode()))
    resp.status = falcon.code_to_http_status(answer["status"])
    resp.data = answer["body"].encode()
    for name, value in answer["headers"].items():
        if value is not None:
            resp.set_header(name, value)
    resp.set_header(REPLAYED_HEADER, "true")
    resp.complete = True
