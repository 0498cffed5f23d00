"""What every refused message leaves: one line and one count."""

from __future__ import annotations

import logging

from armillary import measures
from rpc.signing.seal import Refused

LOG = logging.getLogger(__name__)


def note(refused: Refused, topic: str, what: str) -> None:
    """Log and count one refusal; ``what`` was refused, as a word or two."""
    measures.message_refused(topic, refused.reason)
    LOG.warning("refused %s on %s (%s): %s", what, topic, refused.reason, refused)
