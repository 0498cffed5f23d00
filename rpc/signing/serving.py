"""The serving side: who is not believed gets no answer, who may not gets Forbidden."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oslo_messaging

from armillary import exception
from rpc import authority
from rpc.signing import seal
from rpc.signing.post import Address, Opened, Post
from rpc.signing.refusals import note
from rpc.signing.seal import Refused

Dispatch = Callable[[Any], Any]


def checked(post: Post, address: Address, dispatch: Dispatch) -> Dispatch:
    """Return ``dispatch`` behind the check: what is not believed is dropped, counted and logged.

    What is believed and not allowed is answered with Forbidden.
    """

    def checked_dispatch(incoming: Any) -> Any:
        try:
            opened = post.open_request(address, incoming.message)
        except Refused as refused:
            note(refused, address.topic, "a message")
            incoming.reply = _no_reply
            return None
        if opened is None:
            return dispatch(incoming)
        incoming.ctxt, incoming.message = opened.ctxt, opened.message
        if incoming.msg_id:  # somebody waits for the answer
            incoming.reply = _sealing(post, opened.nonce, incoming.reply)
        _refuse_unauthorized(opened, address.topic)
        return dispatch(incoming)

    return checked_dispatch


def unsealed(topic: str, dispatch: Dispatch) -> Dispatch:
    """Return ``dispatch`` for a process that signs nothing and still reads what others sealed."""

    def unsealed_dispatch(incoming: Any) -> Any:
        try:
            sealed = seal.read(incoming.message)
            contents = {} if sealed is None else sealed.contents()
        except Refused as refused:
            note(refused, topic, "a message")
            incoming.reply = _no_reply
            return None
        if contents:
            incoming.ctxt, incoming.message = contents["ctxt"], contents["message"]
        return dispatch(incoming)

    return unsealed_dispatch


@oslo_messaging.expected_exceptions(exception.Forbidden)  # type: ignore[untyped-decorator]
def _refuse_unauthorized(opened: Opened, topic: str) -> None:
    message = opened.message
    why = authority.refusal(
        opened.identity, topic, message.get("namespace"), message["method"], message["args"]
    )
    if why is None:
        return
    note(Refused("unauthorized", why), topic, message["method"])
    raise exception.Forbidden(reason=why)


def _sealing(post: Post, nonce: str, reply: Callable[..., None]) -> Callable[..., None]:
    def sealed_reply(result: Any = None, failure: Any = None) -> None:
        reply(post.reply(nonce, result, failure))

    return sealed_reply


def _no_reply(*_answer: Any, **_named: Any) -> None:
    """Answer nothing: whoever sent it is not who it says, or says nothing that can be believed."""
