"""Refused messages: a metric counts all, log lines and audit events tell of them within limits."""

import logging
import time
from collections.abc import Callable
from typing import Any, Protocol

from armillary.audit import REFUSED, AuditTrail, Event, Initiator
from armillary.logs.line_budget import INTERVAL_SECONDS, LineBudgets
from armillary.metrics import service_metrics
from rpc.signing import envelope
from rpc.signing.envelope import REPEATED, Refused
from rpc.signing.trust import Identity

LOG = logging.getLogger(__name__)

RECEIVE, REPLY = "receive", "reply"
"""Actions of messages that are not verified, so that their method is not known."""


class Signed(Protocol):
    """A verified message: who signed what."""

    @property
    def message(self) -> dict[str, Any]: ...
    @property
    def ctxt(self) -> dict[str, Any]: ...
    @property
    def identity(self) -> Identity: ...
    @property
    def key_id(self) -> str: ...


class RefusalLog:
    """Notes of refused messages, of which anybody with an account on the broker sends any number.

    What is not proven has a budget for each topic and reason, what a key of ours signed one for
    each key: no flood hides the others. The metric counts all. Thread-safe.
    """

    def __init__(
        self, trail: AuditTrail | None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._trail = trail
        self._budgets = LineBudgets(clock, _log_exhausted)

    def note_unproven(
        self, refused: Refused, topic: str, message: Any, *, reply_to: str | None = None
    ) -> None:
        """Log, count and record a refused message or, with the method, a refused reply to it.

        What the broker repeats for a new server does not indicate an attack and is not recorded.
        """
        service_metrics.RPC_REFUSED.add(topic, refused.reason)
        left_out = self._budgets.take(topic, refused.reason)
        if left_out is None:
            return
        if refused.reason == REPEATED:
            LOG.info("Ignored a message on %s that the broker repeats %s", topic, refused)
            return
        what = "a message" if reply_to is None else f"the reply to {reply_to}"
        reason = _log(refused, topic, what, left_out)
        sender = Initiator(kind="service", credential=envelope.claimed_key_id(message))
        action = RECEIVE if reply_to is None else f"{REPLY}/{reply_to}"
        self._record(_event(reason, topic, action, sender))

    def note_unauthorized(self, why: str, topic: str, verified: Signed) -> None:
        """Log, count and record a refused message whose signer may not do what it says."""
        refused, method = Refused("unauthorized", why), verified.message["method"]
        service_metrics.RPC_REFUSED.add(topic, refused.reason)
        left_out = self._budgets.take(topic, refused.reason, verified.key_id)
        if left_out is None:
            return
        reason = _log(refused, topic, method, left_out)
        sender = Initiator(
            kind=f"service/{verified.identity.role}",
            id=verified.identity.name,
            credential=verified.key_id,
        )
        asked = verified.ctxt.get("request_id")
        request_id = asked if isinstance(asked, str) else None
        self._record(_event(reason, topic, method, sender, request_id))

    def _record(self, event: Event) -> None:
        if self._trail is not None:
            self._trail.record(event)


def _log_exhausted(kind: tuple[str, ...]) -> None:
    LOG.warning(
        "Further refused messages of the kind %s are counted in a metric; one in %.0f s is "
        "logged and recorded", " / ".join(kind), INTERVAL_SECONDS,
    )  # fmt: skip


def _log(refused: Refused, topic: str, what: str, left_out: int) -> str:
    """Log a refusal; return it as a sentence."""
    others = f" ({left_out} like it were left out before)" if left_out else ""
    LOG.warning("Refused %s on %s (%s): %s%s", what, topic, refused.reason, refused, others)
    return f"{refused.reason}: {refused}{others}"


def _event(
    reason: str, topic: str, action: str, sender: Initiator, request_id: str | None = None
) -> Event:
    return Event(
        action=action,
        outcome=REFUSED,
        initiator=sender,
        target_kind=f"rpc/{topic}",
        reason=reason,
        request_id=request_id,
    )
