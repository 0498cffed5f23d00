"""Errors of access: what a caller, an agent or a project may not do."""

from armillary.exception.families import ArmillaryError, Conflict, Forbidden


class NotItsOwn(Forbidden):
    """The signer of a message asks for a change of what belongs to another."""


class AgentNotAdmitted(Conflict):
    """The cell has another agent of this name, or knows its host by another identity."""

    template = "Agent %(agent)s is not admitted: %(reason)s"


class HeartbeatTooLate(Conflict):
    """A heartbeat waited longer on its way than its agent waits for the answer; it counts no more.

    An agent that gets this lives and sends another one.
    """

    template = "The heartbeat of agent %(agent)s was sent %(seconds).0f s ago"


class HostsNotApproved(NotItsOwn):
    """These hosts are not this agent's, by its key's enrolment or by an operator's approval."""

    template = (
        "Agent %(agent)s may not have these hosts: %(named)s. They belong to another agent, or its "
        "key's enrolment does not name them; an operator can give them to it with "
        "armillary-manage cell approve-host"
    )


class PolicyNotAuthorized(Forbidden):
    """The policy does not allow the caller to do this."""

    template = "Policy doesn't allow %(rule)s to be performed."


class Unauthorized(ArmillaryError):
    """The caller is not authenticated."""

    template = "The request needs a valid token."


class QuotaExceeded(Forbidden):
    """The request would exceed one of the project's limits."""

    template = (
        "Quota exceeded for %(resource)s: requested %(requested)s, but already used %(used)s "
        "of %(limit)s"
    )
