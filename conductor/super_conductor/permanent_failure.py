"""The end of a workflow without success."""

from armillary import exception
from conductor.common.cell_db.models import NAME_LENGTH
from objects.traces.decision_trace import DecisionTrace

NO_VALID_HOST = "No valid host was found. There are not enough hosts available."
REFUSED = "The request cannot be scheduled with these properties."
TOO_LATE = "The request could not be scheduled in time."
REFUSALS = (exception.Invalid, exception.NotFound, exception.RequestFilterFailed)
"""What a scheduler raises for a request that it would refuse again."""


class PermanentFailure(Exception):
    """The request cannot succeed, now or later: undo all steps and report why.

    ``message`` is for the user and reveals nothing of the infrastructure. ``details`` are for
    administrators.
    """

    def __init__(self, message: str, details: str) -> None:
        super().__init__(details)
        self.message = message
        self.details = details


def no_valid_host(trace: DecisionTrace | None, reason: str) -> PermanentFailure:
    """Return the failure of a request without a host; ``reason`` is for administrators.

    Users read the trace's sentence, which names no host. With zones below, it may name these.
    """
    if trace is None or not trace.sentence or trace.zones:
        return PermanentFailure(NO_VALID_HOST, reason)
    message = f"No valid host was found. {trace.sentence}"
    return PermanentFailure(cut(message), reason)


def cut(message: str) -> str:
    """Return a message for users, cut to the length of a stored one."""
    return message if len(message) <= NAME_LENGTH else f"{message[: NAME_LENGTH - 1]}…"
