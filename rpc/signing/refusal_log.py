"""Log line and metric for every refused message."""

from __future__ import annotations

import logging

from armillary import service_metrics
from rpc.signing.envelope import Refused

LOG = logging.getLogger(__name__)


def note_not_its_own(why: str, topic: str, method: str) -> None:
    """Log and count a refused change of what belongs to another than the signer."""
    note(Refused("unauthorized", why), topic, method)


def note(refused: Refused, topic: str, what: str) -> None:
    """Log and count a refusal; ``what`` describes the message in a word or two."""
    service_metrics.RPC_REFUSED.add(topic, refused.reason)
    LOG.warning("Refused %s on %s (%s): %s", what, topic, refused.reason, refused)
