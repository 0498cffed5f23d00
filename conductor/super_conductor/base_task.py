"""The end of a workflow without success."""

NO_VALID_HOST = "No valid host was found. There are not enough hosts available."
REFUSED = "The request cannot be scheduled with these properties."
TOO_LATE = "The request could not be scheduled in time."


class PermanentFailure(Exception):
    """The request cannot succeed, now or later: undo all steps and report why.

    ``message`` is for the user and reveals nothing of the infrastructure. ``details`` are for
    administrators.
    """

    def __init__(self, message: str, details: str) -> None:
        super().__init__(details)
        self.message = message
        self.details = details
