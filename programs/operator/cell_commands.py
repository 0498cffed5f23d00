"""``armillary-manage cell``: cells, and their hosts and instances."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.db import cells, host_mappings
from objects.cell_mapping import CELL0_UUID, CellMapping
from programs.display.output import Lister
from programs.operator.transport_records import (
    CreateRecord,
    ListRecords,
    RecordCommand,
    RecordKind,
    RemoveRecord,
    UpdateRecord,
)

if TYPE_CHECKING:
    from conductor.super_conductor.hosts.cells import Cells

CELLS = RecordKind(
    "cell",
    cells.list_cells,
    cells.get_cell,
    cells.create_cell,
    cells.update_cell,
    cells.delete_cell,
    # Known to scripts from Nova: the cell has hosts, live instances, leftover mappings.
    {"hosts": 2, "instances": 3, "leftovers": 4},
)


class CellCreate(CreateRecord):
    """Register a cell: a broker and a database with a conductor of their own.

    Copy the UUID and the transport URL to the [cell] section of its conductor.
    """

    kind = CELLS
    name_help = "unique name"
    broker = "cell's broker"
    disabled_help = "create it disabled: no new servers"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--uuid", help="UUID to use; default: a new one")

    def create(self, session: Any, parsed_args: Namespace, **values: Any) -> CellMapping:
        return cells.create_cell(session, chosen_uuid=parsed_args.uuid, **values)


class CellList(ListRecords):
    """List the cells, first cell0, which keeps servers for which no host was found."""

    kind = CELLS

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        columns, rows = super().take_action(parsed_args)
        return columns, [(CELL0_UUID, "cell0", False, "none:///"), *rows]


class CellUpdate(UpdateRecord):
    """Change a cell. Services pick the change up automatically."""

    kind = CELLS
    changes = ("name", "transport_url", "disabled")
    disable_help = "no new servers; existing ones continue to run"

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--name", help="new name")


class CellDelete(RemoveRecord):
    """Remove a cell.

    Exit codes: 1 no such cell, 2 hosts are mapped to it, 3 it has live servers (not even with
    --force), 4 mappings of deleted servers are left.
    """

    kind = CELLS
    force_help = "also remove mappings of hosts and deleted servers"


class AskCells(RecordCommand):
    """Common part of commands that also ask cells."""

    kind = CELLS

    @contextmanager
    def open_cells(self) -> Iterator[Cells]:
        """Return a client of the cells' conductors."""
        # Not at module level: most commands need no broker, and start sooner without its client.
        from conductor.super_conductor.hosts.cell_enrolments import CellEnrolments
        from conductor.super_conductor.hosts.cells import Cells
        from programs.bus_factory import bus_maker
        from rpc.signing.setup import REQUIRED, trust_files

        conf = self.app.conf
        enrolments = CellEnrolments(trust_files(conf), is_required=conf.signing.mode == REQUIRED)
        make_bus = bus_maker(conf, "armillary-manage")
        found = Cells(conf, self.database, make_bus, enrolments=enrolments)
        try:
            yield found
        finally:
            found.close()

    def find_uuid(self, cell: str) -> str:
        """Return the UUID of a cell given by UUID or name. Raises CellNotFound."""
        with self.database.reader() as session:
            return cells.get_cell(session, cell).uuid


class CellDiscoverHosts(AskCells, Lister):
    """Map new hosts to their cells; the super conductor also does this periodically."""

    listed_items = "new hosts"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cell", help="only this cell (UUID or name)")
        parser.add_argument(
            "--strict", action="store_true", help="end with 1 if no new host was found"
        )

    def run(self, parsed_args: Namespace) -> int:
        self._found_any = True
        super().run(parsed_args)
        return int(parsed_args.strict and not self._found_any)

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        from conductor.super_conductor.hosts import discovery

        with self.open_cells() as links:
            cell_uuid = self.find_uuid(parsed_args.cell) if parsed_args.cell is not None else None
            found = discovery.discover_hosts(
                self.database, links, discovery.ForeignHosts(), cell_uuid=cell_uuid
            )
        for name in found.down_cells:
            self.app.stderr.write(f"cell {name} does not answer; its hosts are skipped\n")
        rows = [(host, cell) for cell, hosts in found.new_hosts.items() for host in hosts]
        self._found_any = bool(rows)
        return ("Host", "Cell"), sorted(rows)


class CellMapInstances(AskCells):
    """Map a cell's servers that have no mapping, such as those of a migrated cell."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("cell", help="UUID or name")

    def take_action(self, parsed_args: Namespace) -> None:
        from conductor.super_conductor.hosts import discovery

        with self.open_cells() as links:
            count = discovery.map_instances(self.database, links, self.find_uuid(parsed_args.cell))
        self.app.stdout.write(f"Servers mapped: {count}\n")


class CellHostRequests(AskCells, Lister):
    """List the hosts that agents or the cell were refused until an operator approves them."""

    listed_items = "refused hosts"

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("cell", help="UUID or name")

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        from conductor.super_conductor.hosts.discovery import find_refused_hosts

        cell_uuid = self.find_uuid(parsed_args.cell)
        with self.open_cells() as links:
            found = links.call(cell_uuid, lambda cell: cell.list_host_requests(admin_context()))
            refused = find_refused_hosts(self.database, links, cell_uuid)
        rows = [
            (one.host, one.agent, one.present_agent or "-", one.requested_at.isoformat())
            for one in found
        ]
        rows += [(host, "the cell: not enrolled for the name", "-", "-") for host in refused]
        return ("Host", "Agent that asked", "Agent that has it", "Since"), rows


class CellApproveHost(AskCells):
    """Give a host to a cell and an agent: a new host, or one of another agent.

    Stop the other agent first. Only needed where messages are signed, for hosts that the enrolment
    of the agent's key or of the cell's does not name.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("cell", help="UUID or name")
        parser.add_argument("host", help="name of the host")
        parser.add_argument("--agent", help="scope of the agent's key; default: the host's name")

    def take_action(self, parsed_args: Namespace) -> None:
        host, agent = parsed_args.host, parsed_args.agent or parsed_args.host
        cell_uuid = self.find_uuid(parsed_args.cell)
        self._map(host, cell_uuid)
        with self.open_cells() as links:
            links.call(cell_uuid, lambda cell: cell.approve_host(admin_context(), host, agent))
        self.app.stdout.write(f"Host {host} belongs to agent {agent}\n")

    def _map(self, host: str, cell_uuid: str) -> None:
        """Map a host to the cell, which it need not have yet. Raises Conflict."""
        with self.database.writer() as session:
            host_mappings.map_hosts(session, cell_uuid, {host: []})
            mapping = host_mappings.find_host_mapping(session, host)
        if mapping is not None and mapping.cell_uuid != cell_uuid:
            raise exception.Conflict(
                reason=f"host {host} is mapped to cell {mapping.cell_uuid}; armillary-manage cell "
                "delete-host ends that"
            )


class CellReleaseHost(AskCells):
    """Let another agent have a host: the next one whose key is enrolled or approved for it."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("cell", help="UUID or name")
        parser.add_argument("host", help="name of the host")

    def take_action(self, parsed_args: Namespace) -> None:
        host = parsed_args.host
        with self.open_cells() as links:
            links.call(
                self.find_uuid(parsed_args.cell),
                lambda cell: cell.release_host(admin_context(), host),
            )
        self.app.stdout.write(f"Host {host} is released\n")
