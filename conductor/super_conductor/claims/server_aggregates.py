"""Aggregates of the host of a claim's server: its pool has to be in one of them (data locality)."""

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db import instance_mappings
from conductor.super_conductor.db.catalogue import aggregates
from conductor.super_conductor.hosts import cell_reports
from conductor.super_conductor.peers import Environment, Peers
from conductor.super_conductor.permanent_failure import PermanentFailure
from objects.cell_mapping import CELL0_UUID
from objects.instance import Instance

_WITHOUT_HOST = frozenset({"error", "deleted", "shelved_offloaded"})


class NoHostYet(Exception):
    """The server is still being built: the claim waits for its host."""


class InAnotherZone(Exception):
    """The server is in another zone, which has the pools beside it. ``str`` gives its path."""


class ServerAggregates:
    """Finds the aggregates of servers' hosts."""

    def __init__(self, env: Environment, peers: Peers) -> None:
        self._env = env
        self._peers = peers

    def find(self, context: RequestContext, server_uuid: str) -> list[str]:
        """Return the UUIDs of the aggregates of a server's host.

        Raises InAnotherZone, NoHostYet, CellUnavailable; PermanentFailure if it never has a host
        with aggregates.
        """
        host = self._host_of(context, server_uuid)
        with self._env.database.reader() as session:
            found = [one.uuid for one in aggregates.list_aggregates_of(session, host)]
        if not found:
            raise PermanentFailure(
                "The host of the server is in no aggregate, so that no pool is beside it.",
                f"Host {host} of server {server_uuid} is in no aggregate",
            )
        return found

    def _host_of(self, context: RequestContext, server_uuid: str) -> str:
        mapping = self._env.database.read(instance_mappings.find_mapping, server_uuid)
        if mapping is None or mapping.queued_for_delete:
            raise _gone(server_uuid)
        if mapping.zone_path is not None:
            if mapping.cell_uuid is not None:  # it is not known whether the zone built it
                raise NoHostYet(
                    f"zone {mapping.zone_path} has not reported server {server_uuid} yet"
                )
            raise InAnotherZone(mapping.zone_path)
        if mapping.cell_uuid is None:
            raise NoHostYet(f"server {server_uuid} has no host yet")
        if mapping.cell_uuid == CELL0_UUID:
            raise PermanentFailure(
                "The server has no host: it could not be built.",
                f"Server {server_uuid} is in state error, without a host",
            )
        server = self._read(context, mapping.cell_uuid, server_uuid)
        if server.vm_state in _WITHOUT_HOST:
            raise PermanentFailure(
                f"The server is in state {server.vm_state}.",
                f"Server {server_uuid} is in state {server.vm_state}",
            )
        if server.host is None:
            raise NoHostYet(f"server {server_uuid} has no host yet")
        return server.host

    def _read(self, context: RequestContext, cell_uuid: str, server_uuid: str) -> Instance:
        try:
            found = self._peers.cells.call(
                cell_uuid, lambda cell: cell.get_instance(context, server_uuid)
            )
        except exception.InstanceNotFound as error:
            raise _gone(server_uuid) from error
        return cell_reports.asked_for(found, server_uuid)


def _gone(server_uuid: str) -> PermanentFailure:
    return PermanentFailure("The server does not exist.", f"Server {server_uuid} does not exist")
