"""Reports and requests of compute agents; each may speak for its own hosts only."""

from collections.abc import Sequence
from typing import Any

from armillary.context import RequestContext
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.cell_conductor.builds.reports import ACCEPTED, Reports
from conductor.cell_conductor.endpoints.background_tasks import BackgroundTasks
from conductor.cell_conductor.endpoints.backports import Backports
from conductor.cell_conductor.hosts.host_nodes import HostNodes
from conductor.cell_conductor.hosts.host_services import HostServices
from conductor.cell_conductor.hosts.instance_updates import InstanceUpdates
from conductor.cell_conductor.operations.engine import Operations
from conductor.cell_conductor.operations.image_tickets import ImageTickets
from conductor.common.service_records import ServiceRecords
from objects.base import Primitive
from objects.hosts.agent_run import AgentRun
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import NodeReportResult
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instances.guest_addresses import GuestAddresses
from objects.instances.instance_command import BuiltReport, CommandAnswer, CommandId
from objects.instances.instance_fault import InstanceFault


class AgentEndpoints(BackgroundTasks):
    """Endpoints for the cell's compute agents."""

    _build: Build
    _delete: Delete
    _image_tickets: ImageTickets
    _instance_updates: InstanceUpdates
    _nodes: HostNodes
    _operations: Operations
    _records: ServiceRecords
    _reports: Reports
    _services: HostServices

    def command_answered(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answers.answered(
            agent, command, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    def migration_progress(
        self,
        context: RequestContext,
        agent: str,
        command: CommandId,
        total_mb: int,
        remaining_mb: int,
    ) -> None:
        self._operations.answers.progressed(
            agent, command, total_mb=total_mb, remaining_mb=remaining_mb
        )

    def is_build_wanted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str, attempt: int
    ) -> bool:
        return self._reports.is_build_wanted(agent, host, instance_uuid, attempt)

    def is_command_wanted(self, context: RequestContext, agent: str, command: CommandId) -> bool:
        return self._operations.answers.is_expected(agent, command)

    def list_migrating_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[dict[str, str]]:
        return self._reports.list_migrating_instances(agent, hosts)

    def report_services(
        self,
        context: RequestContext,
        agent: str,
        hosts: Sequence[str],
        builds: dict[str, int],
        service_version: int,
        run: AgentRun | None = None,
    ) -> dict[str, int]:
        self._services.report(
            agent, hosts, builds, version=service_version, signer=context.signer, run=run
        )
        return self._records.get_oldest_services(context)

    def report_compute_nodes(
        self,
        context: RequestContext,
        agent: str,
        nodes: Sequence[ComputeNode],
        reshape: Sequence[str] = (),
    ) -> list[NodeReportResult]:
        return self._nodes.report(context, agent, nodes, reshape)

    def builds_succeeded(
        self, context: RequestContext, agent: str, built: Sequence[BuiltReport]
    ) -> list[str]:
        answers = self._reports.builds_succeeded(agent, built)
        for report, answer in zip(built, answers, strict=True):
            if answer == ACCEPTED:
                self._instance_updates.placed(report.host, report.instance_uuid)
        return answers

    def build_failed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        fault: InstanceFault,
        retry: bool,
    ) -> str:
        answer, leases = self._reports.build_failed(
            agent, host, instance_uuid, attempt, fault=fault, retry=retry
        )
        self._begin(self._build, context, leases)
        return answer

    def instance_deleted(
        self, context: RequestContext, agent: str, host: str, instance_uuid: str
    ) -> str:
        answer, leases = self._reports.instance_deleted(agent, host, instance_uuid)
        self._begin(self._delete, context, leases)
        return answer

    def instance_ended(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        exit_code: int | None,
        reason: str | None = None,
    ) -> str:
        return self._reports.instance_ended(
            agent, host, instance_uuid, attempt, exit_code=exit_code, reason=reason
        )

    def power_changed(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        attempt: int,
        power_state: str,
        reason: str | None,
    ) -> str:
        return self._reports.power_changed(
            agent, host, instance_uuid, attempt, power_state=power_state, reason=reason
        )

    def report_addresses(
        self, context: RequestContext, agent: str, found: Sequence[GuestAddresses]
    ) -> None:
        self._reports.addresses_found(agent, found)

    def list_host_instances(
        self, context: RequestContext, agent: str, hosts: Sequence[str]
    ) -> list[Instance]:
        return self._reports.list_host_instances(agent, hosts)

    def list_group_members(
        self, context: RequestContext, agent: str, group_uuid: str
    ) -> dict[str, str]:
        return self._reports.list_group_members(agent, group_uuid)

    def get_image_ticket(
        self,
        context: RequestContext,
        agent: str,
        host: str,
        instance_uuid: str,
        image_id: str,
        access: str,
    ) -> ImageTicket | None:
        return self._image_tickets.get_image_ticket(
            context, agent, host, instance_uuid, image_id, access
        )

    # Objects

    def object_backport_versions(
        self, context: RequestContext, objinst: Any, object_versions: dict[str, str]
    ) -> Primitive:
        return Backports().object_backport_versions(context, objinst, object_versions)
