"""Requests of the super conductor, on its own behalf and on behalf of another cell."""

from collections.abc import Sequence
from functools import partial

from oslo_config import cfg

from armillary.context import RequestContext
from armillary.db import Database
from conductor.cell_conductor.builds.build_task import Build
from conductor.cell_conductor.builds.delete_task import Delete
from conductor.cell_conductor.endpoints.background_tasks import BackgroundTasks
from conductor.cell_conductor.hosts import hosts_in_use
from conductor.cell_conductor.hosts.host_services import HostServices
from conductor.cell_conductor.hosts.image_caching import ImageCaching
from conductor.cell_conductor.operations.engine import Operations
from conductor.cell_conductor.operations.locks_and_consoles import LocksAndConsoles
from conductor.common.cell_db import actions, compute_nodes, faults, instances, migrations, services
from conductor.common.service_records import ServiceRecords
from objects.hosts.activity import CellActivity
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import HostRequest, InstanceOnHost, ServiceChanges, ZoneUse
from objects.hosts.host_details import HostRecords
from objects.hosts.host_event import HostEvent
from objects.hosts.image_fetches import ImageFetches
from objects.hosts.service import Service
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket
from objects.instance import Instance
from objects.instances.build_request import BuildRequest
from objects.instances.diagnostics import Diagnostics
from objects.instances.instance_action import InstanceAction
from objects.instances.instance_command import CommandAnswer, CommandId, InstanceCommand
from objects.instances.instance_fault import InstanceFault
from objects.instances.migration import Migration
from objects.instances.operation_arguments import CellOperation
from objects.instances.serial_console import SerialConsole
from objects.instances.server_answers import InstanceMarker
from objects.instances.server_changes import ServerChanges
from objects.instances.server_filters import MigrationFilters, ServerFilters
from objects.instances.server_record import ServerRecord
from objects.instances.server_topology import ServerTopology
from objects.request_spec import RequestSpec
from objects.selection import Selection


class SuperConductorEndpoints(BackgroundTasks):
    """Endpoints for the super conductor."""

    _conf: cfg.ConfigOpts
    _database: Database
    _locks_and_consoles: LocksAndConsoles
    _build: Build
    _delete: Delete
    _operations: Operations
    _records: ServiceRecords
    _services: HostServices
    _images: ImageCaching

    def build_instances(
        self, context: RequestContext, build_requests: Sequence[BuildRequest]
    ) -> None:
        leases = self._build.store(context, build_requests)
        begin = partial(self._build.begin, context, build_requests, leases)
        self._submit(self._build, begin, leases)

    def get_instance(self, context: RequestContext, instance_uuid: str) -> Instance:
        with self._database.reader() as session:
            return instances.get(session, instance_uuid, cell_uuid=self._conf.cell.uuid)

    def list_instances(
        self,
        context: RequestContext,
        filters: ServerFilters,
        limit: int,
        marker: InstanceMarker | None = None,
    ) -> list[Instance]:
        with self._database.reader() as session:
            return instances.list_page(
                session, filters=filters, limit=limit, marker=marker,
                cell_uuid=self._conf.cell.uuid,
            )  # fmt: skip

    def delete_instance(self, context: RequestContext, instance_uuid: str) -> None:
        self._begin(self._delete, context, self._delete.store(context, instance_uuid))

    def list_instance_actions(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceAction]:
        with self._database.reader() as session:
            return actions.list_of(session, instance_uuid)

    def list_instance_faults(
        self, context: RequestContext, instance_uuid: str
    ) -> list[InstanceFault]:
        with self._database.reader() as session:
            return faults.list_of(session, instance_uuid)

    def find_living_migrations(
        self, context: RequestContext, migration_uuids: Sequence[str]
    ) -> list[str]:
        with self._database.reader() as session:
            return migrations.living(session, migration_uuids)

    def find_instance_hosts(
        self, context: RequestContext, instance_uuids: Sequence[str]
    ) -> dict[str, str]:
        with self._database.reader() as session:
            return instances.hosts_of(session, instance_uuids)

    def find_hosts_in_use(self, context: RequestContext, hosts: Sequence[str]) -> dict[str, str]:
        with self._database.reader() as session:
            return hosts_in_use.find(session, hosts)

    def list_zone_uses(self, context: RequestContext) -> list[ZoneUse]:
        with self._database.reader() as session:
            return hosts_in_use.list_zone_uses(session)

    def list_services(self, context: RequestContext) -> list[Service]:
        return self._services.list_all()

    def find_compute_services(self, context: RequestContext, hosts: Sequence[str]) -> list[Service]:
        return self._services.find(hosts)

    def list_instances_on_hosts(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> list[InstanceOnHost]:
        with self._database.reader() as session:
            return instances.names_on_hosts(session, hosts)

    def get_activity(self, context: RequestContext) -> CellActivity:
        return self._services.activity()

    def get_host_records(self, context: RequestContext, host: str) -> HostRecords:
        return self._services.records_of(host)

    def list_host_events(
        self, context: RequestContext, host: str, limit: int, marker: str | None = None
    ) -> list[HostEvent]:
        return self._services.list_events(host, limit=limit, marker=marker)

    def cache_images(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        return self._images.cache_images(context, host, images, tickets)

    def get_oldest_services(self, context: RequestContext) -> dict[str, int]:
        return self._records.get_oldest_services(context)

    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        return self._services.update(context, service_uuid, changes)

    def delete_service(self, context: RequestContext, service_uuid: str) -> str:
        return self._services.delete(context, service_uuid)

    def list_host_requests(self, context: RequestContext) -> list[HostRequest]:
        return self._services.owners.list_waiting()

    def approve_host(self, context: RequestContext, host: str, agent: str) -> None:
        self._services.owners.approve(host, agent)

    def release_host(self, context: RequestContext, host: str) -> None:
        self._services.owners.release(host)

    def list_compute_nodes(self, context: RequestContext) -> list[ComputeNode]:
        with self._database.reader() as session:
            return compute_nodes.list_all(session, cell_uuid=self._conf.cell.uuid)

    def list_known_hosts(self, context: RequestContext) -> dict[str, list[str]]:
        with self._database.reader() as session:
            nodes = compute_nodes.uuids_by_host(session)
            return {host: nodes.get(host, []) for host in {*services.list_hosts(session), *nodes}}

    def begin_operation(
        self, context: RequestContext, instance_uuid: str, operation: str, arguments: CellOperation
    ) -> int:
        stored = self._operations.requests.store(context, instance_uuid, operation, arguments)
        self._begin(self._operations, context, stored.leases)
        return stored.fence

    def record_refusal(
        self, context: RequestContext, instance_uuid: str, operation: str, reason: str
    ) -> None:
        self._operations.requests.record_refusal(context, instance_uuid, operation, reason)

    def continue_operation(
        self,
        context: RequestContext,
        instance_uuid: str,
        migration_uuid: str,
        selections: Sequence[Selection],
        request_spec: RequestSpec,
    ) -> None:
        leases = self._operations.requests.go_on(
            instance_uuid, migration_uuid, selections, request_spec
        )
        self._begin(self._operations, context, leases)

    def fail_operation(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str, fault: InstanceFault
    ) -> None:
        leases = self._operations.requests.fail(instance_uuid, migration_uuid, fault)
        self._begin(self._operations, context, leases)

    def update_instance(
        self, context: RequestContext, instance_uuid: str, changes: ServerChanges
    ) -> None:
        self._locks_and_consoles.update_instance(context, instance_uuid, changes)

    def set_lock(
        self, context: RequestContext, instance_uuid: str, locked: bool, reason: str | None
    ) -> None:
        self._locks_and_consoles.set_lock(context, instance_uuid, locked=locked, reason=reason)

    def reset_state(self, context: RequestContext, instance_uuid: str, vm_state: str) -> None:
        self._locks_and_consoles.reset_state(context, instance_uuid, vm_state=vm_state)

    def abort_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        self._operations.answers.abort(context, instance_uuid, migration_uuid)

    def force_migration(
        self, context: RequestContext, instance_uuid: str, migration_uuid: str
    ) -> None:
        self._operations.answers.force(context, instance_uuid, migration_uuid)

    def list_migrations(
        self, context: RequestContext, filters: MigrationFilters, limit: int
    ) -> list[Migration]:
        with self._database.reader() as session:
            return migrations.list_page(
                session, filters=filters, limit=limit, cell_uuid=self._conf.cell.uuid
            )

    def get_console_output(
        self, context: RequestContext, instance_uuid: str, lines: int | None
    ) -> str:
        return self._locks_and_consoles.get_console_output(context, instance_uuid, lines=lines)

    def get_diagnostics(self, context: RequestContext, instance_uuid: str) -> Diagnostics:
        return self._locks_and_consoles.get_diagnostics(context, instance_uuid)

    def get_topology(self, context: RequestContext, instance_uuid: str) -> ServerTopology:
        return self._locks_and_consoles.get_topology(context, instance_uuid)

    def create_serial_console(self, context: RequestContext, instance_uuid: str) -> SerialConsole:
        return self._locks_and_consoles.create_serial_console(context, instance_uuid)

    def set_admin_password(
        self, context: RequestContext, instance_uuid: str, password: str
    ) -> None:
        self._locks_and_consoles.set_admin_password(context, instance_uuid, password)

    def trigger_crash_dump(self, context: RequestContext, instance_uuid: str) -> None:
        self._locks_and_consoles.trigger_crash_dump(context, instance_uuid)

    # From the super conductor, on behalf of another cell

    def execute_for_other_cell(
        self, context: RequestContext, record: ServerRecord, command: InstanceCommand
    ) -> str | None:
        return self._operations.send_for_other_cell(context, record, command)

    def other_cell_command_answered(
        self,
        context: RequestContext,
        migration_uuid: str,
        command: CommandId,
        answer: CommandAnswer,
        fault: InstanceFault | None,
    ) -> str:
        found, leases = self._operations.answers.answered_in_other_cell(
            migration_uuid, command, answer=answer, fault=fault
        )
        self._begin(self._operations, context, leases)
        return found

    def is_other_cell_command_wanted(
        self, context: RequestContext, migration_uuid: str, command: CommandId
    ) -> bool:
        return self._operations.answers.is_expected_in_other_cell(migration_uuid, command)

    def take_over_instance(self, context: RequestContext, record: ServerRecord) -> None:
        self._operations.take_over(record)

    def drop_copy(self, context: RequestContext, instance_uuid: str, migration_uuid: str) -> None:
        self._operations.drop_copy(instance_uuid, migration_uuid)
