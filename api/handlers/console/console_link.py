"""One-time links to the web console."""

from datetime import UTC, datetime

from api.call import Call
from api.console.links import PLAIN_PATH
from api.formats import times
from api.policies.console import console_link as policies
from api.schemas.console import console_link as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes


def create(call: Call) -> Answer:
    """Make a link that logs the caller in, with the token of this request.

    Without authentication the page needs no login, and its plain path is the link. Raises Forbidden
    for a session of the console: its copied cookie would make another one that outlives it.
    """
    links = call.site.console_links
    if links is None:
        raise exception.NotFound("The web console is turned off: [console] enabled")
    if call.is_by_cookie:
        raise exception.Forbidden(reason="a login makes no other one; use armillary console")
    if call.token is None:
        return _answer(PLAIN_PATH, None)
    path, expires_at = links.make(call.token, call.context.user_id or "")
    return _answer(path, datetime.fromtimestamp(expires_at, UTC))


def _answer(path: str, expires_at: datetime | None) -> Answer:
    link = {"link": path, "expires_at": times.seconds(expires_at)}
    return Answer(link, status=201, headers={"Cache-Control": "no-store"})


ROUTES: Routes[Call] = {
    "/v2.1/armillary/console-links": {
        "POST": Action(
            create, policies.CREATE, schemas.CREATE_ANSWER, body=schemas.CREATE, status=201
        )
    }
}
