"""Reports and questions of compute agents."""

from collections.abc import Sequence

from armillary.context import RequestContext
from objects.hosts.agent_run import AgentRun
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import NodeReportResult
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instances.guest_addresses import GuestAddresses
from objects.instances.instance_command import BuiltReport, CommandAnswer, CommandId
from objects.instances.instance_fault import InstanceFault
from rpc.callers import AGENT_ITSELF
from rpc.interface import Idempotent, Interface, call, cast

REPORT_TIMEOUT_SECONDS = 15.0
"""Timeout of reports; they are repeated sooner than other calls would time out."""


class AgentsAPI(Interface):
    """From compute agents: reports may be repeated; each names its host."""

    @call(AGENT_ITSELF)
    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        *,
        service_version: int,
        run: AgentRun | None = None,
    ) -> dict[str, int]:
        """Send the heartbeat of an agent and its hosts, every ``report_interval``.

        Missing records are created. ``builds`` (instance UUID -> attempt) are builds in progress:
        their leases are renewed. Of the runs of one agent, one at a time is admitted; one that
        ``is_over`` says good-bye. Answers as ``get_oldest_services``. Raises AgentNotAdmitted,
        Conflict, HeartbeatTooLate, HostsNotApproved, ServiceTooOld.
        """

    @call(AGENT_ITSELF)
    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        *,
        reshape: Sequence[str] = (),
    ) -> list[NodeReportResult]:
        """Store inventories and usage of the hosts' nodes, and send inventories to placement.

        ``reshape`` lists UUIDs of nodes in an agent's first report after its start. They are sent
        to placement even if nothing changed, and their allocations may move when the shape of
        their provider trees changes.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[BuiltReport]
    ) -> list[str]:
        """Report finished builds; return the answer to each, in the same order.

        It is "accepted" (also when repeated) or "stale"; then the agent destroys the guest, because
        another attempt owns the instance.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def build_failed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        fault: InstanceFault,
        retry: bool,
    ) -> str:
        """Report a failed build; return "accepted" or "stale".

        With ``retry`` the next alternate is tried, else the instance ends in ERROR.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        """Report that the guest has been destroyed on the host.

        Returns "accepted", or "stale" for an instance that was not being deleted.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS, idempotent=Idempotent.BY_RECORD)
    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        exit_code: int | None,
        reason: str | None = None,
    ) -> str:
        """Report that the workload has ended by itself: the instance becomes stopped.

        With a ``reason`` it crashed. Returns "accepted" or "stale". Each report, and each time it
        is sent, has a request ID of its own.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS, idempotent=Idempotent.BY_RECORD)
    def power_changed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        *,
        power_state: str,
        reason: str | None,
    ) -> str:
        """Report that the workload runs, or is paused, other than by request.

        Without an operation the instance becomes active, paused or suspended. Returns "accepted"
        or "stale". Request IDs are as for :meth:`instance_ended`.
        """

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS, idempotent=Idempotent.BY_RECORD)
    def report_addresses(
        self, context: RequestContext, agent: str, found: Sequence[GuestAddresses]
    ) -> None:
        """Store the addresses of guests; those of earlier attempts are ignored. Raises Invalid."""

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def command_answered(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        *,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        """Report the result of a command; ``fault`` gives the reason of a failure.

        Returns "accepted", or "stale" when the answer is no longer expected.
        """

    @cast(AGENT_ITSELF)
    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        *,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        """Report the remaining memory of a live migration (may be lost)."""

    @call(AGENT_ITSELF)
    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        """Return whether the agent still has to build this attempt on its host."""

    @call(AGENT_ITSELF)
    def is_command_wanted(self, context: RequestContext, agent: str, command: CommandId) -> bool:
        """Return whether the agent's answer to this command is still expected."""

    @call(AGENT_ITSELF)
    def list_migrating_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        """Return {"instance_uuid", "host"} of moves from or to these hosts.

        The agent must not touch the guests of these instances there.
        """

    @call(AGENT_ITSELF)
    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        """Return living instances whose current attempt is on these hosts.

        Agents call it at their start to reconcile their guests.
        """

    @call(AGENT_ITSELF)
    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        """Return instance -> host of the group's living members here, for the late check."""

    @call(AGENT_ITSELF, timeout_seconds=REPORT_TIMEOUT_SECONDS)
    def get_image_ticket(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        """Return a ticket to ``read`` an image of an instance here, or to ``write`` its snapshot.

        It expires soon; the agent asks for another one when it tries again. Returns None if hosts
        find images by themselves. Raises Forbidden if the host does nothing with that image now,
        and what ``issue_image_ticket`` of the super conductor raises.
        """
