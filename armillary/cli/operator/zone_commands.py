"""``armillary-manage zone``: which zones there are right below this one, how they are reached."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from typing import Any

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from armillary import exception
from armillary.cli.operator.peers import peers
from armillary.cli.operator.reached_records import (
    COLUMNS,
    ApiDatabaseCommand,
    add_ability,
    add_if_missing,
    exit_code_of,
    given,
    row_of,
)
from conductor.api_db import zones

# As those of "cell delete": living servers in it, mappings of deleted ones.
EXIT_BY_REASON = {"servers": 3, "leftovers": 4}


class ZoneAdd(ApiDatabaseCommand, ShowOne):
    """Put a zone below this one; services take it up by themselves.

    The name is what the child calls itself ([zones] name), the transport URL that of the child's
    broker, with an account that the child made for its parent.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("name", help="[zones] name of the child")
        parser.add_argument("--transport-url", required=True, help="the child's broker")
        parser.add_argument("--disabled", action="store_true", help="ask it nothing for now")
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
    """List the zones right below this one; passwords are masked."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        with self.database.reader() as session:
            return COLUMNS, [row_of(zone) for zone in zones.list_zones(session)]


class ZoneUpdate(ApiDatabaseCommand, ShowOne):
    """Change a zone. Services take it over by themselves."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("zone", help="UUID or name")
        parser.add_argument("--transport-url", help="new address of its broker, or new password")
        add_ability(
            parser,
            disable_help="no new servers there; those that live there go on and can be managed",
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        values = given(parsed_args, "transport_url", "disabled")
        with self.database.writer() as session:
            zone = zones.update_zone(session, parsed_args.zone, values, now=datetime.now(UTC))
        return COLUMNS, row_of(zone)


class ZoneRemove(ApiDatabaseCommand, Command):
    """Take a zone out of the tree. Nothing is changed in the zone itself.

    Exit codes: 1 no such zone, 3 servers of this one live in it or are on their way there (not even
    with --force: nobody could reach them any more), 4 mappings of deleted servers are left.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("zone", help="UUID or name")
        parser.add_argument(
            "--force", action="store_true", help="remove mappings of deleted servers, too"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        def remove() -> None:
            with self.database.writer() as session:
                zones.delete_zone(session, parsed_args.zone, force=parsed_args.force)

        return exit_code_of(self.app, remove, EXIT_BY_REASON)


class ZoneRefresh(Command):
    """Have all zones of the tree push their summaries now; needs this zone's top broker."""

    app: Any

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with peers(self.app.conf) as asked:
            asked.conductor.refresh_zones(asked.context)
