"""Idempotency-Key: a client that lost an answer repeats its POST, and gets the first answer.

The header is that of the IETF draft "The Idempotency-Key HTTP Header Field". For a day the same
key, project, user and request get the same answer; the key with another request is answered 422.
Refused requests are not stored, so that they fill no database; a repeat is refused again.
Answers are stored encrypted, with a key made from the client's, which is not stored: they may
contain passwords. A key that could be guessed protects none, so its answers are stored without.
"""

from __future__ import annotations

import base64
import hashlib
import json
import logging
from collections.abc import Callable
from typing import Any

import falcon
from cryptography.fernet import Fernet

from armillary import exception
from armillary.context import RequestContext
from armillary.idempotency import IdempotencyRecord, Records, digest

LOG = logging.getLogger(__name__)

HEADER = "Idempotency-Key"
REPLAYED_HEADER = "Idempotent-Replayed"
KEY_CHARACTERS_MAX = 255
ANSWER_BYTES_MAX = 65_536
"""A longer answer is not stored; a repeat of its request is carried out again."""
RETRY_AFTER_SECONDS = 1
SECRET_KEY_CHARACTERS_MIN = 20
"""A shorter key could be guessed from its stored digest; a UUID has 32 characters or more."""
_HIDDEN_FIELD = "adminPass"

_STORED_HEADERS = ("content-type", "location")

RecordsOf = Callable[[RequestContext], Records]
"""Returns where a caller's records are kept."""


class Idempotency:
    """Middleware, after authentication: answers repeated POSTs.

    ``read_body`` returns the body in a form that JSON can express.
    """

    def __init__(self, records_of: RecordsOf, read_body: Callable[[falcon.Request], Any]) -> None:
        self._records_of = records_of
        self._read_body = read_body

    def process_resource(
        self, req: falcon.Request, resp: falcon.Response, resource: object, params: dict[str, Any]
    ) -> None:
        """Raise HTTPBadRequest, HTTPConflict, HTTPUnprocessableEntity."""
        sent, caller = req.get_header(HEADER), getattr(req.context, "caller", None)
        if sent is None or req.method != "POST" or caller is None:
            return
        key = _checked(sent)
        owner = (caller.project_id, caller.user_id)
        record_key, fingerprint = digest("http", *owner, key), self._fingerprint(req)
        records = self._records_of(caller)
        record = records.begin(
            record_key,
            fingerprint=fingerprint,
            request_id=req.context.request_id,
            owner=caller.project_id or caller.user_id or "",
        )
        if record.fingerprint != fingerprint:
            raise falcon.HTTPUnprocessableEntity(
                description=f"The {HEADER} was used for another request. "
                "Send a new key with each request that is not a repeat."
            )
        cipher = _cipher(key, *owner)
        if not record.is_new:
            _replay(resp, record, cipher)
            return
        # A request that was abandoned goes on under its first ID, by which the services know it.
        req.context.request_id = caller.request_id = record.request_id
        is_secret = len(key) >= SECRET_KEY_CHARACTERS_MIN
        req.context.answer_once = _AnswerOnce(records, record_key, cipher, is_secret=is_secret)

    def process_response(
        self, req: falcon.Request, resp: falcon.Response, resource: object, req_succeeded: bool
    ) -> None:
        once: _AnswerOnce | None = getattr(req.context, "answer_once", None)
        if once is not None:
            once.answered(resp)

    def _fingerprint(self, req: falcon.Request) -> str:
        return digest(
            req.method, req.path, req.query_string, req.context.version, self._read_body(req)
        )


class _AnswerOnce:
    """The record of a request that is being handled."""

    def __init__(
        self, records: Records, record_key: str, cipher: Fernet, *, is_secret: bool
    ) -> None:
        self._is_secret = is_secret
        self._records = records
        self._record_key = record_key
        self._cipher = cipher

    def answered(self, resp: falcon.Response) -> None:
        """Store an answer to what was carried out; what was refused changed nothing."""
        body = None if resp.stream is not None else resp.render_body() or b""
        try:
            if resp.status_code >= 500 or body is None or len(body) > ANSWER_BYTES_MAX:
                self._records.abandon(self._record_key)
                return
            if resp.status_code >= 400:
                self._records.forget(self._record_key)
                return
            self._records.keep(self._record_key, self._encrypted(resp, body))
        except exception.ArmillaryError as error:
            LOG.warning("The answer cannot be stored for repeats of its request: %s", error)

    def _encrypted(self, resp: falcon.Response, body: bytes) -> str:
        headers = {name: resp.get_header(name) for name in _STORED_HEADERS}
        if not self._is_secret and _HIDDEN_FIELD.encode() in body:
            body = json.dumps(_without_passwords(json.loads(body))).encode()
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


def _without_passwords(value: Any) -> Any:
    """Return a JSON document with empty passwords."""
    if isinstance(value, dict):
        return {
            name: "" if name == _HIDDEN_FIELD else _without_passwords(item)
            for name, item in value.items()
        }
    return [_without_passwords(item) for item in value] if isinstance(value, list) else value


def _cipher(*secret: str | None) -> Fernet:
    made = hashlib.sha256(json.dumps(secret).encode()).digest()
    return Fernet(base64.urlsafe_b64encode(made))


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
