"""Log line, metric and audit event for every refused message."""

from __future__ import annotations

import logging
from typing import Any

from armillary import service_metrics
from armillary.audit import REFUSED, AuditTrail, Event, Initiator
from rpc.signing import envelope
from rpc.signing.envelope import REPEATED, Refused
from rpc.signing.message_signer import VerifiedMessage

LOG = logging.getLogger(__name__)

RECEIVE, REPLY = "receive", "reply"
"""Actions of messages that are not verified, so that their method is not known."""


def note_unproven(
    trail: AuditTrail, refused: Refused, topic: str, message: Any, *, reply_to: str | None = None
) -> None:
    """Log, count and record a refused message or, with the method, a refused reply to it.

    What the broker repeats for a new server does not indicate an attack and is not recorded.
    """
    if refused.reason == REPEATED:
        service_metrics.RPC_REFUSED.add(topic, refused.reason)
        LOG.info("Ignored a message on %s that the broker repeats %s", topic, refused)
        return
    note(refused, topic, "a message" if reply_to is None else f"the reply to {reply_to}")
    sender = Initiator(kind="service", credential=envelope.claimed_key_id(message))
    action = RECEIVE if reply_to is None else f"{REPLY}/{reply_to}"
    trail.record(_event(refused, topic, action, sender))


def note_unauthorized(trail: AuditTrail, why: str, topic: str, verified: VerifiedMessage) -> None:
    """Log, count and record a refused message whose signer may not do what it says."""
    refused, method = Refused("unauthorized", why), verified.message["method"]
    note(refused, topic, method)
    sender = Initiator(
        kind=f"service/{verified.identity.role}",
        id=verified.identity.name,
        credential=verified.key_id,
    )
    request_id = verified.ctxt.get("request_id")
    trail.record(
        _event(refused, topic, method, sender, request_id if isinstance(request_id, str) else None)
    )


def note(refused: Refused, topic: str, what: str) -> None:
    """Log and count a refusal; ``what`` describes the message in a word or two."""
    service_metrics.RPC_REFUSED.add(topic, refused.reason)
    LOG.warning("Refused %s on %s (%s): %s", what, topic, refused.reason, refused)


def _event(
    refused: Refused, topic: str, action: str, sender: Initiator, request_id: str | None = None
) -> Event:
    return Event(
        action=action,
        outcome=REFUSED,
        initiator=sender,
        target_kind=f"rpc/{topic}",
        reason=f"{refused.reason}: {refused}",
        request_id=request_id,
    )
