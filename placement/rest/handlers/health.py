"""Health check: whether this process can serve, which requires its database."""

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.rest.call import Call, Routes


def check(call: Call) -> Answer:
    """Check that the database responds."""
    call.engine.ping()
    return Answer({"status": "ok"})


ROUTES: Routes = {"/healthcheck": {"GET": Action(check, None)}}
