"""``armillary-manage zone``: direct child zones and their transport URLs."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from armillary import exception
from conductor.super_conductor.db import zones
from programs.operator.service_clients import peers
from programs.operator.transport_records import (
    COLUMNS,
    ApiDatabaseCommand,
    add_ability,
    add_if_missing,
    exit_code_of,
    given,
    row_of,
)

# As for "cell delete": live servers in it, mappings of deleted ones.
EXIT_BY_REASON = {"servers": 3, "leftovers": 4}


class ZoneAdd(ApiDatabaseCommand, ShowOne):
    """Add a child zone; services pick it up automatically.

    The name is that of the child's [zones] name; the transport URL is that of the child's broker,
    with an account that the child created for its parent.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("name", help="[zones] name of the child")
        parser.add_argument(
            "--transport-url", required=True, help="transport URL of the child's broker"
        )
        parser.add_argument(
            "--disabled", action="store_true", help="add it disabled: it is not asked for hosts"
        )
        add_if_missing(parser)
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        try:
            with self.database.writer() as session:
                zone = zones.create_zone(
                    session,
                    name=parsed_args.name,
                    transport_url=parsed_args.transport_url,
                    disabled=parsed_args.disabled,
                    now=datetime.now(UTC),
                )
        except exception.ZoneExists:
            if not parsed_args.if_missing:
                raise
            with self.database.reader() as session:
                zone = zones.get_zone(session, parsed_args.name)
        return COLUMNS, row_of(zone)


class ZoneList(ApiDatabaseCommand, Lister):
    """List the direct child zones; passwords are masked."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        with self.database.reader() as session:
            return COLUMNS, [row_of(zone) for zone in zones.list_zones(session)]


class ZoneUpdate(ApiDatabaseCommand, ShowOne):
    """Change a zone. Services pick the change up automatically."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("zone", help="UUID or name")
        parser.add_argument(
            "--transport-url", help="new transport URL of its broker, or a new password in it"
        )
        add_ability(
            parser,
            disable_help="no new servers there; existing ones keep running and can be managed",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = given(parsed_args, "transport_url", "disabled")
        with self.database.writer() as session:
            zone = zones.update_zone(session, parsed_args.zone, values, now=datetime.now(UTC))
        return COLUMNS, row_of(zone)


class ZoneRemove(ApiDatabaseCommand, Command):
    """Remove a zone from the tree. Nothing is changed in the zone itself.

    Exit codes: 1 no such zone, 3 servers of this zone run in it or are being built there (not even
    with --force: they would become unreachable), 4 mappings of deleted servers are left.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("zone", help="UUID or name")
        parser.add_argument(
            "--force", action="store_true", help="also remove mappings of deleted servers"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        def remove() -> None:
            with self.database.writer() as session:
                zones.delete_zone(session, parsed_args.zone, force=parsed_args.force)

        return exit_code_of(self.app, remove, EXIT_BY_REASON)


class ZoneRefresh(Command):
    """Make all zones of the tree push their summaries now; needs this zone's top broker."""

    app: Any

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with peers(self.app.conf) as asked:
            asked.conductor.refresh_zones(asked.context)
