"""The endpoints of a super conductor's RPC topics, built from its parts."""

from typing import Any

from armillary.db import Database
from armillary.idempotency import Records
from conductor.common.service_records import ServiceRecords
from conductor.super_conductor.accept.acceptance import Acceptance
from conductor.super_conductor.accept.dry_runs import DryRuns
from conductor.super_conductor.accept.placed_usage import PlacedUsageReader
from conductor.super_conductor.accept.quotas import AllocationsEndpoint, QuotasEndpoint
from conductor.super_conductor.accept.server_groups import ServerGroupsEndpoint
from conductor.super_conductor.claims.delegated_claims import DelegatedClaims
from conductor.super_conductor.claims.endpoint import ClaimsEndpoint
from conductor.super_conductor.endpoints.aggregates import AggregatesEndpoint
from conductor.super_conductor.endpoints.catalogue import (
    FlavorsEndpoint,
    ImagesEndpoint,
    KeyPairsEndpoint,
)
from conductor.super_conductor.endpoints.idempotency import IdempotencyEndpoint
from conductor.super_conductor.endpoints.servers import ServersEndpoint
from conductor.super_conductor.endpoints.zone import ZoneEndpoint
from conductor.super_conductor.endpoints.zone_records import ZoneRecordsEndpoint
from conductor.super_conductor.hosts.fleet_view import FleetView
from conductor.super_conductor.hosts.host_details import HostDetailsEndpoint
from conductor.super_conductor.hosts.host_id_key import HostIdKey
from conductor.super_conductor.hosts.host_ownership import HostOwnershipEndpoint
from conductor.super_conductor.hosts.host_views import Hosts
from conductor.super_conductor.housekeeping import Housekeeping
from conductor.super_conductor.move.cell_relay import CellRelay
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.repair.aggregate_sync import AggregateSync
from conductor.super_conductor.servers.guest_requests import GuestRequests
from conductor.super_conductor.servers.rebuild_checks import RebuildChecks
from conductor.super_conductor.servers.server_lists import ServerLists
from conductor.super_conductor.servers.server_migrations import ServerMigrations
from conductor.super_conductor.servers.server_operations import ServerOperations
from conductor.super_conductor.servers.server_views import ServerReader
from conductor.super_conductor.servers.snapshots import SnapshotsEndpoint
from conductor.super_conductor.workflows import Workflows
from conductor.super_conductor.zones.delegated_builds import DelegatedBuilds
from conductor.super_conductor.zones.local_zone import LocalZone
from conductor.super_conductor.zones.overview import Overview
from conductor.super_conductor.zones.remote_servers import RemoteServers


def make_endpoints(
    env: Environment,
    peers: Peers,
    workflows: Workflows,
    housekeeping: Housekeeping,
    records: ServiceRecords,
    idempotency: Records,
    *,
    cell0_database: Database,
) -> list[Any]:
    """Return the endpoints of topic ``conductor``; connect this zone to the routes of zones."""
    conf, database, now, notifier = env.conf, env.database, env.now, env.notifier
    cells, placement, scheduler = peers.cells, peers.placement, peers.scheduler
    builds, deletes, metadata = workflows.builds, workflows.deletes, housekeeping.metadata
    placed_usage = PlacedUsageReader(conf, database, placement)
    remote_servers = RemoteServers(database, peers.zones)
    servers = ServerReader(database, cells, peers.cell0, remote_servers)
    lists = ServerLists(database, cells, peers.cell0, remote_servers, servers)
    operations = ServerOperations(
        conf, database, cells,
        cell0=peers.cell0, servers=servers, deletes=deletes, moves=workflows.moves, now=now,
        placed_usage=placed_usage,
        resize_ends=housekeeping.resize_usage.poll_soon,
        rebuild_check=RebuildChecks(database, scheduler, conf.pci.alias, notifier).check,
    )  # fmt: skip
    guest_requests = GuestRequests(cells, servers)
    migrations = ServerMigrations(database, cells, servers)
    delegated = DelegatedBuilds(
        env, peers, builds.leases, begin=builds.begin, delete=deletes.delete
    )
    claims = ClaimsEndpoint(env, peers, workflows.claims)
    peers.zones.own = LocalZone(
        database, delegated, servers, lists, operations, guest_requests, migrations,
        claims=DelegatedClaims(database, claims, hides_pools=conf.zones.hide_host_names),
        hides_hosts=conf.zones.hide_host_names,
    )  # fmt: skip
    overview = Overview(conf, database, scheduler)
    return [
        ServersEndpoint(
            Acceptance(conf, database, builds.leases, now=now, placed_usage=placed_usage),
            builds, deletes, servers, lists, operations, guest_requests, migrations,
            remote_servers, workflows.deferred,
        ),
        SnapshotsEndpoint(database, servers, operations, now),
        overview,
        ZoneRecordsEndpoint(conf, database, now),
        CellRelay(database, cells, deletes, placement),
        DryRuns(conf, database, cells, scheduler),
        FlavorsEndpoint(database, now),
        ImagesEndpoint(database, now),
        workflows.image_tickets,
        KeyPairsEndpoint(conf, database, now),
        claims,
        HostIdKey(database),
        AggregatesEndpoint(database, metadata, housekeeping.zone_guard, now, notifier),
        workflows.image_caching,
        ServerGroupsEndpoint(conf, database, now, notifier),
        Hosts(conf, database, cells, placement, metadata, own_records=records),
        records,
        HostOwnershipEndpoint(conf, database, cells, metadata),
        HostDetailsEndpoint(
            conf, database, cell0_database, cells, placement, migrations, overview, now
        ),
        FleetView(conf, database, scheduler, placement, now),
        QuotasEndpoint(conf, database, placed_usage),
        AllocationsEndpoint(placement),
        housekeeping.orphans,
        housekeeping.cell_servers,
        AggregateSync(database, placement),
        metadata,
        IdempotencyEndpoint(idempotency),
    ]  # fmt: skip


def make_zone_endpoint(env: Environment, peers: Peers) -> ZoneEndpoint:
    """Return the endpoint of topic ``zone``, for parent zones."""
    return ZoneEndpoint(env.database, peers, hides_hosts=env.conf.zones.hide_host_names)
