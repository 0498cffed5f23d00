"""Sending side: sign requests, and accept replies only from the interface's servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oslo_messaging.transport import RPCTransport

from armillary import exception
from rpc import oslo_internals
from rpc.signing.envelope import Refused
from rpc.signing.message_signer import MayAnswer, MessageSigner
from rpc.signing.refusal_log import note


class SignedTransport(oslo_internals.DriverTransport):
    """A transport that signs requests and verifies replies."""

    def __init__(
        self,
        transport: RPCTransport,
        post: MessageSigner,
        allowed_modules: Sequence[str],
        may_answer: MayAnswer,
    ) -> None:
        super().__init__(transport)
        self._post = post
        self._allowed_modules = list(allowed_modules)
        self._may_answer = may_answer

    def send(self, target: Any, ctxt: Any, message: Any, **how: Any) -> Any:
        sealed, nonce = self._post.request(target, ctxt, message)
        answer = super().send(target, {}, sealed, **how)
        if not how.get("wait_for_reply"):
            return None
        try:
            contents = self._post.open_reply(target, nonce, answer, self._may_answer)
        except Refused as refused:
            note(refused, target.topic, f"the reply to {message['method']}")
            raise exception.RpcAnswerRefused(
                method=message["method"], topic=target.topic, reason=str(refused)
            ) from None
        if contents is None:  # the server does not sign
            return answer
        if contents["failure"]:
            raise oslo_internals.deserialize_failure(contents["failure"], self._allowed_modules)
        return contents["result"]
