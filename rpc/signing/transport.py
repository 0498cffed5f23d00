"""Sending side: sign requests, and accept replies only from the interface's servers."""

from collections.abc import Mapping, Sequence
from typing import Any

import oslo_messaging
from oslo_messaging.transport import RPCTransport

from armillary import exception
from rpc import oslo_internals
from rpc.replies import ReplyRefused, SignedCaller, unsigned_result
from rpc.signing.envelope import Refused
from rpc.signing.message_signer import MayAnswer, MessageSigner
from rpc.signing.place import Place


class SignedTransport(oslo_internals.DriverTransport):
    """A transport that signs requests and verifies replies, failures included.

    A refused reply does not end the call, which waits for another one until it times out.
    """

    def __init__(
        self,
        transport: RPCTransport,
        message_signer: MessageSigner,
        place: Place,
        allowed_modules: Sequence[str],
        may_answer: MayAnswer,
    ) -> None:
        super().__init__(transport)
        self._caller: SignedCaller = self.driver
        self._message_signer = message_signer
        self._place = place
        self._allowed_modules = list(allowed_modules)
        self._may_answer = may_answer

    def send(self, target: Any, ctxt: Any, message: Any, **how: Any) -> Any:
        signed, nonce = self._message_signer.request(self._place, target, ctxt, message)
        if not how.get("wait_for_reply"):
            super().send(target, {}, signed, **how)
            return None
        method = message["method"]
        call = _SignedCall(
            self._message_signer,
            self._place,
            self._allowed_modules,
            target,
            nonce,
            method,
            self._may_answer,
        )
        try:
            with self._caller.verifying(call.open_reply):
                return super().send(target, {}, signed, **how)
        except oslo_messaging.MessagingTimeout:
            if call.last_refused is None:
                raise
            raise exception.RpcAnswerRefused(
                method=method, topic=target.topic, reason=str(call.last_refused)
            ) from None


class _SignedCall:
    """One call: opens what arrives as its reply, and keeps why the last message was refused."""

    def __init__(
        self,
        message_signer: MessageSigner,
        place: Place,
        allowed_modules: list[str],
        target: oslo_messaging.Target,
        nonce: str,
        method: str,
        may_answer: MayAnswer,
    ) -> None:
        self.last_refused: Refused | None = None
        self._message_signer = message_signer
        self._place = place
        self._allowed_modules = allowed_modules
        self._target = target
        self._nonce = nonce
        self._method = method
        self._may_answer = may_answer

    def open_reply(self, message: Mapping[str, Any]) -> Any:
        """Return the result. Raises ReplyRefused, or the failure that the server reported."""
        try:
            contents = self._message_signer.open_reply(
                self._place, self._target, self._nonce, message.get("result"), self._may_answer
            )
        except Refused as refused:
            self._message_signer.refusals.note_unproven(
                refused, self._target.topic, message.get("result"), reply_to=self._method
            )
            self.last_refused = refused
            raise ReplyRefused from None
        if contents is None:  # the server does not sign
            return unsigned_result(message, self._allowed_modules)
        if contents["failure"]:
            raise oslo_internals.deserialize_failure(contents["failure"], self._allowed_modules)
        return contents["result"]
