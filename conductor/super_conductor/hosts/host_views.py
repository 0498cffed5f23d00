"""Hosts of all cells: services, compute nodes and availability zones."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import TypeVar

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from armillary.db import Database
from conductor.common.cell_db.services import COMPUTE
from conductor.common.service_records import ROLE_OF, ServiceRecords
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import cell_reports, departed_hosts
from conductor.super_conductor.hosts.cells import Answers, Cells, Question
from conductor.super_conductor.hosts.cluster_metadata import MetadataPublisher
from conductor.super_conductor.zones import uuid_translation
from objects.cell_mapping import CELL0_UUID
from objects.hosts.compute_node import ComputeNode
from objects.hosts.host_answers import (
    AvailabilityZone,
    ComputeNodeDetails,
    ComputeNodePage,
    HostAvailability,
    InstanceOnHost,
    ServiceChanges,
    ServicePage,
)
from objects.hosts.service import Service
from objects.instance import Instance
from objects.instances.server_filters import ServerFilters
from placement.interface import PlacementAPI

T = TypeVar("T")

_Node = tuple[ComputeNode, Service | None]

_INSTANCES_MAX = 1000

_REFUSALS = (exception.Conflict, exception.Invalid, exception.Forbidden)
"""Errors of a cell that has not deleted a service."""


@dataclasses.dataclass(frozen=True)
class _AllHosts:
    """Answers of the cells."""

    services: list[Service]
    nodes: list[ComputeNode]
    down_cells: list[str]


class Hosts:
    """Endpoint for hosts, see ``SuperConductorAPI``: queries all cells, changes the host's cell.

    ``own_records`` are those of the services on the top broker.

    Raises CellUnavailable, too, if what is not found may be in a cell that did not answer.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cells: Cells,
        placement: PlacementAPI,
        metadata: MetadataPublisher,
        *,
        own_records: ServiceRecords,
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._placement = placement
        self._metadata = metadata
        self._own_records = own_records

    def list_services(self, context: RequestContext) -> ServicePage:
        all_hosts = self._read_hosts(context, with_nodes=False)
        services = sorted([*all_hosts.services, *self._own_records.list_all()], key=_place)
        names = {cell.uuid: cell.name for cell in self._cells.list_cells()}
        return ServicePage(services, all_hosts.down_cells, names)

    def find_compute_services(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> dict[str, Service]:
        cells = self._cells_of(hosts)
        answers = self._ask(cells, lambda cell: cell.find_compute_services(context, hosts))
        zones = self._database.read(aggregates.zones_of, hosts)
        return {
            service.host: self._placed(service, cell, zones)
            for cell, found in answers.by_cell.items()
            for service in found
            if cells.get(service.host) == cell
        }

    def list_servers_on_hosts(
        self, context: RequestContext, hosts: Sequence[str]
    ) -> list[InstanceOnHost]:
        cells = self._cells_of(hosts)
        answers = self._ask(cells, lambda cell: cell.list_instances_on_hosts(context, hosts))
        if answers.down_cells:
            raise exception.CellUnavailable(
                cell=", ".join(answers.down_cells), reason="no answer; try again later"
            )
        with self._database.reader() as session:
            found = [
                each
                for cell, seen in answers.by_cell.items()
                for each in cell_reports.own_names(session, cell, seen)
                if cells.get(each.host) == cell
            ]
            return uuid_translation.of_own(session, {one.uuid for one in found}).in_answer(found)

    def report_service(
        self,
        context: RequestContext,
        host: str,
        binary: str,
        service_version: int,
        worker: int = 0,
        figures: Mapping[str, float] | None = None,
    ) -> dict[str, int]:
        _require_own_binary(context, binary)
        self._own_records.record_heartbeat(host, binary, service_version, worker, figures)
        return self._own_records.get_oldest_services(context)

    def update_service(
        self, context: RequestContext, service_uuid: str, changes: ServiceChanges
    ) -> Service:
        cell_uuid = str(self._find_service(context, service_uuid).cell_uuid)
        if cell_uuid == CELL0_UUID:
            raise exception.Invalid(
                reason=f"service {service_uuid} has no host that could be disabled or forced down"
            )
        changed = self._cells.call(
            cell_uuid, lambda cell: cell.update_service(context, service_uuid, changes)
        )
        return self._placed(changed, cell_uuid, self._zones())

    def delete_service(self, context: RequestContext, service_uuid: str) -> None:
        service = self._find_service(context, service_uuid)
        cell_uuid = str(service.cell_uuid)
        if cell_uuid == CELL0_UUID:
            self._own_records.remove(service_uuid)
            return
        is_compute = service.binary == COMPUTE
        if is_compute:
            self._set_leaving(service.host, cell_uuid, is_leaving=True)
        try:
            host = self._cells.call(
                cell_uuid, lambda cell: cell.delete_service(context, service_uuid)
            )
        except _REFUSALS:
            self._set_leaving(service.host, cell_uuid, is_leaving=False)
            raise
        if not is_compute:
            return
        if host != service.host:
            raise exception.RpcFailed(
                method="delete_service", topic="cell_conductor",
                reason=f"wrong answer: the service is on {service.host}, not on {host}",
            )  # fmt: skip
        changed = self._database.run_in_writer(departed_hosts.forget, host, cell_uuid)
        self._metadata.aggregates_changed(changed)

    def _set_leaving(self, host: str, cell_uuid: str, *, is_leaving: bool) -> None:
        self._database.run_in_writer(
            host_mappings.set_leaving, host, cell_uuid, is_leaving=is_leaving
        )

    def list_compute_nodes(self, context: RequestContext) -> ComputeNodePage:
        all_hosts = self._read_hosts(context, with_nodes=True)
        usages = self._placement.get_provider_usages(
            context, [node.uuid for node in all_hosts.nodes]
        )
        return ComputeNodePage(
            nodes=all_hosts.nodes,
            services=_compute_services(all_hosts),
            usages=usages,
            down_cells=all_hosts.down_cells,
        )

    def get_compute_node(self, context: RequestContext, node: str) -> ComputeNodeDetails:
        found, service = self._find_node(context, node) or self._search_node(context, node)
        usages = self._placement.get_provider_usages(context, [found.uuid])
        return ComputeNodeDetails(
            node=found,
            service=service,
            usages=usages.get(found.uuid, {}),
            instances=self._instances_on(context, found),
        )

    def list_availability_zones(self, context: RequestContext) -> list[AvailabilityZone]:
        zones: dict[str, dict[str, HostAvailability]] = {}
        for service in self._read_hosts(context, with_nodes=False).services:
            if service.binary == COMPUTE and service.availability_zone is not None:
                hosts = zones.setdefault(service.availability_zone, {})
                hosts[service.host] = HostAvailability(
                    service.up, service.disabled, service.last_seen_up
                )
        named = self._database.read(aggregates.zone_names)
        for name in (*named, self._conf.default_availability_zone):
            zones.setdefault(name, {})
        return [AvailabilityZone(name, hosts) for name, hosts in sorted(zones.items())]

    def _find_node(self, context: RequestContext, node: str) -> _Node | None:
        """Return a node that the mapping of a host names, which its cell alone is asked for."""
        with self._database.reader() as session:
            mapping = host_mappings.find_host_of_node(session, node)
            if mapping is None:
                return None
            zones = aggregates.zones_of(session, [mapping.host])
        try:
            records = self._cells.call_briefly(
                mapping.cell_uuid, lambda cell: cell.get_host_records(context, mapping.host)
            )
        except exception.HostNotFound:
            return None
        for one in records.nodes:
            if node in (one.uuid, one.node) and one.uuid in mapping.node_uuids:
                service = self._placed(records.service, mapping.cell_uuid, zones)
                return one.with_values(cell_uuid=mapping.cell_uuid), service
        return None

    def _search_node(self, context: RequestContext, node: str) -> _Node:
        """Ask all cells for a node. Raises ComputeNodeNotFound, CellUnavailable."""
        all_hosts = self._read_hosts(context, with_nodes=True)
        for one in all_hosts.nodes:
            if node in (one.uuid, one.node):
                return one, _compute_services(all_hosts).get(one.host)
        _raise_if_cells_down(all_hosts)
        raise exception.ComputeNodeNotFound(node=node)

    def _read_hosts(self, context: RequestContext, *, with_nodes: bool) -> _AllHosts:
        answers = self._cells.ask_all(
            lambda cell: (
                cell.list_services(context),
                cell.list_compute_nodes(context) if with_nodes else [],
            )
        )
        zones = self._zones()
        said = answers.by_cell.items()
        with self._database.reader() as session:
            services = cell_reports.own_services(session, {cell: one[0] for cell, one in said})
            nodes = (
                cell_reports.own_nodes(session, {cell: one[1] for cell, one in said})
                if with_nodes
                else []
            )
        return _AllHosts(
            services=sorted(
                (self._placed(service, cell, zones) for cell, service in services), key=_place
            ),
            nodes=sorted(
                (node.with_values(cell_uuid=cell) for cell, node in nodes),
                key=lambda one: (one.host, one.node),
            ),
            down_cells=answers.down_cells,
        )

    def _cells_of(self, hosts: Collection[str]) -> dict[str, str]:
        """Return host -> UUID of its cell, for those of these hosts that have one."""
        mapped = self._database.read(host_mappings.find_host_mappings, hosts)
        return {host: one.cell_uuid for host, one in mapped.items()}

    def _ask(self, cells: Mapping[str, str], question: Question[T]) -> Answers[T]:
        """Ask the cells that some hosts are in."""
        asked = {*cells.values()}
        among = [cell for cell in self._cells.list_cells() if cell.uuid in asked]
        return self._cells.ask_all(question, among=among)

    def _find_service(self, context: RequestContext, service_uuid: str) -> Service:
        """Return a service with its cell. Raises ServiceNotFound, CellUnavailable."""
        for own in self._own_records.list_all():
            if own.uuid == service_uuid:
                return own
        all_hosts = self._read_hosts(context, with_nodes=False)
        for service in all_hosts.services:
            if service.uuid == service_uuid and service.cell_uuid is not None:
                return service
        _raise_if_cells_down(all_hosts)
        raise exception.ServiceNotFound(service=service_uuid)

    def _placed(self, service: Service, cell_uuid: str, zones: dict[str, str]) -> Service:
        """Set the cell of a service, and the availability zone of a compute service."""
        service.cell_uuid = cell_uuid
        if service.binary == COMPUTE:
            service.availability_zone = zones.get(
                service.host, self._conf.default_availability_zone
            )
        return service

    def _zones(self) -> dict[str, str]:
        return self._database.read(aggregates.zones_of_hosts)

    def _instances_on(self, context: RequestContext, node: ComputeNode) -> list[Instance]:
        assert node.cell_uuid is not None
        found = self._cells.call(
            node.cell_uuid,
            lambda cell: cell.list_instances(
                context, filters=ServerFilters(host=node.host), limit=_INSTANCES_MAX
            ),
        )
        with self._database.reader() as session:
            own = cell_reports.own_instances(session, node.cell_uuid, found)
            here = [one for one in own if one.node in (None, node.node)]
            return uuid_translation.of_own(session, {one.uuid for one in here}).in_answer(here)


def _require_own_binary(context: RequestContext, binary: str) -> None:
    """Raise NotItsOwn if a heartbeat is signed by another kind of service than it is of."""
    signer = context.signer
    if signer is not None and binary in ROLE_OF and ROLE_OF[binary] != signer.role:
        raise exception.NotItsOwn(
            reason=f"{signer.name} has the role {signer.role} and sent a heartbeat of {binary}"
        )


def _place(service: Service) -> tuple[str, str]:
    return service.host, service.binary


def _compute_services(all_hosts: _AllHosts) -> dict[str, Service]:
    return {one.host: one for one in all_hosts.services if one.binary == COMPUTE}


def _raise_if_cells_down(all_hosts: _AllHosts) -> None:
    """Raise CellUnavailable while a cell does not answer: the object may be there."""
    if all_hosts.down_cells:
        raise exception.CellUnavailable(
            cell=", ".join(all_hosts.down_cells), reason="the object may be there; try again later"
        )
