"""Serving side: drop messages that fail verification; answer unauthorised ones with Forbidden."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import oslo_messaging

from armillary import exception
from rpc import authority
from rpc.authority import BASE_NAMESPACE
from rpc.interface import Interface
from rpc.signing import envelope
from rpc.signing.envelope import Refused
from rpc.signing.message_signer import Address, MessageSigner, VerifiedMessage
from rpc.signing.place import Place
from rpc.signing.refusal_log import RefusalLog
from rpc.wire.serializer import VerifiedContext

Dispatch = Callable[[Any], Any]

_CONTEXT_CHARACTERS_MAX = 1024
_CONTEXT_ITEMS_MAX = 100
_NAME_CHARACTERS_MAX = 255
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){0,2}").fullmatch


def checked(
    message_signer: MessageSigner, address: Address, interface: type[Interface], dispatch: Dispatch
) -> Dispatch:
    """Wrap ``dispatch`` with verification: drop, count and log messages that fail it.

    Verified messages that are not authorised are answered with Forbidden.
    """

    def checked_dispatch(incoming: Any) -> Any:
        reply, incoming.reply = incoming.reply, _no_reply  # also to what fails in the check itself
        try:
            verified = message_signer.open_request(address, incoming.message)
            _check_context(incoming.ctxt if verified is None else verified.ctxt)
            _check_call(incoming.message if verified is None else verified.message)
        except Refused as refused:
            message_signer.refusals.note_unproven(refused, address.topic, incoming.message)
            return None
        if verified is None:
            incoming.reply = reply
            return dispatch(incoming)
        context = VerifiedContext(verified.ctxt, verified.identity.as_signer())
        incoming.ctxt = context
        incoming.message = verified.message
        incoming.client_timeout = None  # was not signed, and asks for heartbeats, which are not
        if incoming.msg_id:  # a call, which needs a reply
            incoming.reply = _signed_replies(message_signer, address.place, verified.nonce, reply)
        _refuse_unauthorized(message_signer, verified, interface, address.place)
        try:
            return dispatch(incoming)
        except oslo_messaging.ExpectedException as failure:
            error = failure.exc_info[1]
            if isinstance(error, exception.NotItsOwn):
                message_signer.refusals.note_unauthorized(str(error), address.topic, verified)
            raise
        finally:
            for why in context.refused_parts:
                message_signer.refusals.note_unauthorized(why, address.topic, verified)

    return checked_dispatch


def unverified(topic: str, dispatch: Dispatch) -> Dispatch:
    """Wrap ``dispatch`` for a process without signing, which still reads signed messages."""
    refusals = RefusalLog(None)

    def unverified_dispatch(incoming: Any) -> Any:
        try:
            signed = envelope.read(incoming.message)
            contents = {} if signed is None else signed.contents()
            _check_context(contents["ctxt"] if contents else incoming.ctxt)
            _check_call(contents["message"] if contents else incoming.message)
        except Refused as refused:
            refusals.note_unproven(refused, topic, incoming.message)
            incoming.reply = _no_reply
            return None
        if contents:
            incoming.ctxt, incoming.message = contents["ctxt"], contents["message"]
        return dispatch(incoming)

    return unverified_dispatch


def _check_context(context: Any) -> None:
    """Raise Refused unless a context has short plain values: they reach logs and databases."""
    if not isinstance(context, dict):
        raise Refused("malformed", "its context is not a dict")
    for value in context.values():
        is_list = isinstance(value, list) and len(value) <= _CONTEXT_ITEMS_MAX
        if not all(map(_is_short, value)) if is_list else not _is_short(value):
            raise Refused("malformed", "a value of its context is too long, or not plain")


def _check_call(message: Any) -> None:
    """Raise Refused unless a message names a method as the library's dispatcher can read it.

    It would log a traceback, and answer with it.
    """
    match message:
        case {"method": str(method), "args": dict()} if len(method) <= _NAME_CHARACTERS_MAX:
            version, namespace = message.get("version", "1.0"), message.get("namespace")
        case _:
            raise Refused("malformed", "it names no method with arguments")
    if not isinstance(version, str) or not _VERSION(version):
        raise Refused("malformed", "its version is malformed")
    if namespace not in (None, BASE_NAMESPACE):
        raise Refused("malformed", "its namespace is unknown")


def _is_short(value: Any) -> bool:
    if isinstance(value, str):
        return len(value) <= _CONTEXT_CHARACTERS_MAX
    return value is None or isinstance(value, bool | int | float)


@oslo_messaging.expected_exceptions(exception.Forbidden)  # type: ignore[untyped-decorator]
def _refuse_unauthorized(
    message_signer: MessageSigner,
    verified: VerifiedMessage,
    interface: type[Interface],
    place: Place,
) -> None:
    message = verified.message
    why = authority.refusal_reason(
        verified.identity,
        interface,
        message.get("namespace"),
        message["method"],
        message["args"],
        received_for=place.owner,
    )
    if why is None:
        return
    message_signer.refusals.note_unauthorized(why, interface.TOPIC, verified)
    raise exception.Forbidden(reason=why)


def _signed_replies(
    message_signer: MessageSigner, place: Place, nonce: str, reply: Callable[..., None]
) -> Callable[..., None]:
    def signed_reply(result: Any = None, failure: Any = None) -> None:
        reply(message_signer.reply(place, nonce, result, failure))

    return signed_reply


def _no_reply(*_answer: Any, **_named: Any) -> None:
    """Send no reply: the sender is not verified."""
