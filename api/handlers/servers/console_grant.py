"""Grants of consoles: the proxy asks whether what it keeps open may stay open."""

from api.call import Call
from api.policies.servers import remote_console as policies
from armillary import exception
from armillary.consoles.grant_checks import CHECK_PATH
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes


def check_console_grant(call: Call) -> Answer:
    """Answer 204 if the console of a grant may be used now, 403 if not.

    The caller is the proxy, which has no token; the grant says whose login is meant.
    """
    grants = call.site.console_grants
    if grants is None:
        raise exception.NotFound("[serial_console] enabled is not set for the API")
    grant = grants.opened(call.console_grant)
    caller = grants.caller_of(grant)
    if caller is None:
        raise exception.Forbidden(reason="the login that the console was opened with has ended")
    call.context = caller  # whose console it is, for the audit trail, too
    try:
        server = call.conductor.get_server(caller, grant.instance_uuid)
    except exception.InstanceNotFound as error:
        raise exception.Forbidden(reason="the server is gone") from error
    target = {"project_id": server.project_id, "user_id": server.user_id}
    call.site.policy.authorize(policies.CREATE, target, caller)
    if server.host != grant.host:
        raise exception.Forbidden(reason="the server is on another host now")
    return Answer()


ROUTES: Routes[Call] = {CHECK_PATH: {"GET": Action(check_console_grant, None, status=204)}}
