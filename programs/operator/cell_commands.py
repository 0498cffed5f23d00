"""``armillary-manage cell``: cells, and their hosts and instances."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from armillary import exception
from conductor.super_conductor.db import cells
from conductor.super_conductor.hosts import discovery
from conductor.super_conductor.hosts.cells import Cells
from programs.bus_factory import bus_maker
from programs.operator.transport_records import (
    COLUMNS,
    ApiDatabaseCommand,
    add_ability,
    add_if_missing,
    exit_code_of,
    given,
    row_of,
)

# Known to scripts from Nova: the cell has hosts, live instances, leftover mappings.
EXIT_BY_REASON = {"hosts": 2, "instances": 3, "leftovers": 4}


class _CellCommand(ApiDatabaseCommand):
    """Common part of commands that also ask cells."""

    def find_uuid(self, cell: str | None) -> str | None:
        """Return the UUID of a cell given by UUID or name. Raises CellNotFound."""
        if cell is None:
            return None
        with self.database.reader() as session:
            return cells.get_cell(session, cell).uuid

    def open_cells(self) -> Cells:
        """Return a client of the cells' conductors."""
        return Cells(self.app.conf, self.database, bus_maker(self.app.conf, "armillary-manage"))


class CellCreate(ApiDatabaseCommand, ShowOne):
    """Register a cell: a broker and a database with a conductor of their own.

    Copy the UUID and the transport URL to the [cell] section of its conductor.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("name", help="unique name")
        parser.add_argument(
            "--transport-url", required=True, help="transport URL of the cell's broker"
        )
        parser.add_argument("--uuid", help="UUID to use; default: a new one")
        parser.add_argument(
            "--disabled", action="store_true", help="create it disabled: no new servers"
        )
        add_if_missing(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        try:
            with self.database.writer() as session:
                cell = cells.create_cell(
                    session,
                    name=parsed_args.name,
                    transport_url=parsed_args.transport_url,
                    chosen_uuid=parsed_args.uuid,
                    disabled=parsed_args.disabled,
                    now=datetime.now(UTC),
                )
        except exception.CellExists:
            if not parsed_args.if_missing:
                raise
            with self.database.reader() as session:
                cell = cells.get_cell(session, parsed_args.name)
        return COLUMNS, row_of(cell)


class CellList(ApiDatabaseCommand, Lister):
    """List the cells; passwords are masked."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        with self.database.reader() as session:
            return COLUMNS, [row_of(cell) for cell in cells.list_cells(session)]


class CellUpdate(ApiDatabaseCommand, ShowOne):
    """Change a cell. Services pick the change up automatically."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("cell", help="UUID or name")
        parser.add_argument("--name", help="new name")
        parser.add_argument("--transport-url", help="new transport URL of the broker")
        add_ability(parser, disable_help="no new servers; existing ones continue to run")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = given(parsed_args, "name", "transport_url", "disabled")
        with self.database.writer() as session:
            cell = cells.update_cell(session, parsed_args.cell, values, now=datetime.now(UTC))
        return COLUMNS, row_of(cell)


class CellDelete(ApiDatabaseCommand, Command):
    """Remove a cell.

    Exit codes: 1 no such cell, 2 hosts are mapped to it, 3 it has live servers (not even with
    --force), 4 mappings of deleted servers are left.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("cell", help="UUID or name")
        parser.add_argument(
            "--force", action="store_true", help="also remove mappings of hosts and deleted servers"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        def remove() -> None:
            with self.database.writer() as session:
                cells.delete_cell(session, parsed_args.cell, force=parsed_args.force)

        return exit_code_of(self.app, remove, EXIT_BY_REASON)


class CellDiscoverHosts(_CellCommand, Lister):
    """Map new hosts to their cells; the super conductor also does this periodically."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("--cell", help="only this cell (UUID or name)")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        links = self.open_cells()
        try:
            found = discovery.discover_hosts(
                self.database, links, cell_uuid=self.find_uuid(parsed_args.cell)
            )
        finally:
            links.close()
        for name in found.down_cells:
            self.app.stderr.write(f"cell {name} does not answer; its hosts are skipped\n")
        rows = [(host, cell) for cell, hosts in found.new_hosts.items() for host in hosts]
        return ("Host", "Cell"), sorted(rows)


class CellMapInstances(_CellCommand, Command):
    """Map a cell's servers that have no mapping, such as those of a migrated cell."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("cell", help="UUID or name")
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        links = self.open_cells()
        try:
            cell_uuid = self.find_uuid(parsed_args.cell)
            assert cell_uuid is not None
            count = discovery.map_instances(self.database, links, cell_uuid)
        finally:
            links.close()
        self.app.stdout.write(f"{count} servers mapped\n")
