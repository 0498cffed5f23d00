"""Health check: whether this process can serve, which requires its database."""

from armillary.http.call import Answer
from placement.rest.call import Call


def check(call: Call) -> Answer:
    """Check that the database responds."""
    call.engine.ping()
    return Answer({"status": "ok"})
