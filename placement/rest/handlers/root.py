"""Description of the API, its versions, and the health checks of this process."""

from oslo_utils import timeutils

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from armillary.http.microversion import to_text
from placement.rest.call import Call, Routes
from placement.rest.versions import MAX, MIN


def document(call: Call) -> Answer:
    """Describe this API as an OpenAPI document."""
    return Answer(call.site.document())


def index(call: Call) -> Answer:
    """List the versions of the API."""
    version = {
        "id": f"v{to_text(MIN)}",
        "min_version": to_text(MIN),
        "max_version": to_text(MAX),
        "status": "CURRENT",
        "links": [{"rel": "self", "href": call.root}],
    }
    return Answer({"versions": [version]}, last_modified=timeutils.utcnow())


def check_health(call: Call) -> Answer:
    """Check that this process can serve, which requires its database."""
    call.engine.ping()
    return Answer({"status": "ok"})


def check_live(call: Call) -> Answer:
    """Report that this process runs, without asking its database."""
    return Answer({"status": "ok"})


ROUTES: Routes = {
    "/": {"GET": Action(index, None)},
    "/healthcheck": {"GET": Action(check_health, None)},
    "/healthcheck/live": {"GET": Action(check_live, None)},
    "/openapi.json": {"GET": Action(document, None)},
}
