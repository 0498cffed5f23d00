"""``armillary-manage cell``: the first cell, hosts of cells, and where an instance is."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime
from typing import Any

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.db import cells, host_mappings, instance_mappings
from objects.cell_mapping import CELL0_UUID, CellMapping
from objects.instances.server_filters import ServerFilters
from programs.display.output import Lister
from programs.operator.cell_commands import AskCells
from programs.operator.databases import API, CELL0
from programs.operator.transport_records import add_no_verify, add_transport_url
from rpc.transport import configured_url

EXIT_NO_CELL = 1
EXIT_NO_HOST = 2
EXIT_HAS_SERVERS = 3

EXIT_NOT_MAPPED = 1
EXIT_CELL_MISSING = 2
EXIT_DELETED = 3

NAME = "cell1"


class CellSimpleSetup(AskCells):
    """Set up a deployment of one cell: tables, the cell, its hosts. May be repeated.

    Run it with the super conductor's configuration. The cell has the UUID and the transport URL
    of the section [cell] if there is one, else a new UUID and the URL of [DEFAULT].
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--name", default=NAME, help="name (default: %(default)s)")
        add_transport_url(parser, "transport URL of the cell's broker")
        add_no_verify(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        from conductor.super_conductor.hosts import discovery

        for known in (API, CELL0):
            known.open(self.app.conf).sync(known.schema)
        cell = self._find_or_create(parsed_args)
        self.app.stdout.write(f"Cell {cell.name}: uuid = {cell.uuid}\n")
        with self.open_cells() as links:
            found = discovery.discover_hosts(
                self.database, links, discovery.ForeignHosts(), cell_uuid=cell.uuid
            )
        if found.down_cells:
            self.app.stderr.write(
                "Its conductor does not answer yet: start armillary-conductor with this uuid in "
                "its section [cell]. The super conductor finds its hosts.\n"
            )
        hosts = [host for new in found.new_hosts.values() for host in new]
        self.app.stdout.write(f"New hosts: {', '.join(hosts) or 'none'}\n")
        return 0

    def _find_or_create(self, parsed_args: Namespace) -> CellMapping:
        present = self.database.read(cells.list_cells)
        if len(present) == 1:
            return present[0]
        if present:
            raise exception.Invalid(
                reason=f"there are {len(present)} cells; this command is for deployments of one"
            )
        url = parsed_args.transport_url or self.app.conf.cell.transport_url
        url = url or configured_url(self.app.conf)
        self.verify(url, parsed_args)
        with self.database.writer() as session:
            return cells.create_cell(
                session,
                name=parsed_args.name,
                transport_url=url,
                chosen_uuid=self.app.conf.cell.uuid,
                now=datetime.now(UTC),
            )


class CellListHosts(AskCells, Lister):
    """List the hosts that are mapped to cells."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cell", help="only this cell (UUID or name)")

    def take_action(self, parsed_args: Namespace) -> tuple[Any, Any]:
        cell_uuid = self.find_uuid(parsed_args.cell) if parsed_args.cell is not None else None
        with self.database.reader() as session:
            names = {cell.uuid: cell.name for cell in cells.list_cells(session)}
            found = host_mappings.list_host_mappings(session, cell_uuid)
        rows = [(one.host, names.get(one.cell_uuid, "-"), one.cell_uuid) for one in found]
        return ("Host", "Cell", "Cell UUID"), rows


class CellDeleteHost(AskCells):
    """Forget that a host belongs to a cell.

    It is found again while its service reports: delete that first ("armillary service delete").
    Exit codes: 1 no such cell, 2 the host is not mapped to it, 3 it has servers.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("host", help="name of the host")
        parser.add_argument("--cell", help="cell that the host is expected in (UUID or name)")

    def take_action(self, parsed_args: Namespace) -> int:
        host = parsed_args.host
        try:
            wanted = self.find_uuid(parsed_args.cell) if parsed_args.cell is not None else None
        except exception.CellNotFound as error:
            return self._refuse(str(error), EXIT_NO_CELL)
        mapping = self.database.read(host_mappings.find_host_mapping, host)
        if mapping is None or wanted not in (None, mapping.cell_uuid):
            return self._refuse(f"Host {host} is not mapped to this cell", EXIT_NO_HOST)
        if self._has_servers(host, mapping.cell_uuid):
            return self._refuse(
                f"Host {host} has servers: move or delete them first", EXIT_HAS_SERVERS
            )
        with self.database.writer() as session:
            host_mappings.delete_host_mapping(session, host)
        return 0

    def _has_servers(self, host: str, cell_uuid: str) -> bool:
        filters = ServerFilters(host=host)
        with self.open_cells() as links:
            return bool(
                links.call(
                    cell_uuid,
                    lambda cell: cell.list_instances(
                        admin_context(), filters=filters, limit=1, marker=None
                    ),
                )
            )

    def _refuse(self, reason: str, code: int) -> int:
        self.app.LOG.error(reason)
        return code


class CellVerifyInstance(AskCells):
    """Say which cell an instance is mapped to.

    Exit codes: 0 it is mapped to a cell; 1 it is not, as long as no host was chosen; 2 its cell is
    gone; 3 it is deleted, only its mapping is left.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("instance", help="UUID")

    def take_action(self, parsed_args: Namespace) -> int:
        uuid = parsed_args.instance
        with self.database.reader() as session:
            mapping = instance_mappings.find_mapping(session, uuid)
            names = {cell.uuid: cell.name for cell in cells.list_cells(session)}
        names[CELL0_UUID] = "cell0"
        if mapping is None or mapping.cell_uuid is None:
            return self._say(f"Instance {uuid} is not mapped to a cell", EXIT_NOT_MAPPED)
        if mapping.cell_uuid not in names:
            return self._say(
                f"Instance {uuid} is mapped to cell {mapping.cell_uuid}, which does not exist",
                EXIT_CELL_MISSING,
            )
        where = f"{names[mapping.cell_uuid]} ({mapping.cell_uuid})"
        if mapping.queued_for_delete:
            return self._say(
                f"Instance {uuid} is deleted; it was mapped to cell {where}", EXIT_DELETED
            )
        return self._say(f"Instance {uuid} is mapped to cell {where}", 0)

    def _say(self, text: str, code: int) -> int:
        if self.app.options.verbose_level > 0:
            self.app.stdout.write(f"{text}\n")
        return code
