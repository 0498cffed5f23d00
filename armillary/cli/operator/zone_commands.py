"""``armillary-manage zone``: which zones there are right below this one, how they are reached."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from cliff.command import Command
from cliff.lister import Lister
from cliff.show import ShowOne

from armillary import exception
from armillary.cli.operator.databases import open_api
from armillary.cli.operator.peers import peers
from armillary.db import Database
from armillary.masking import mask_passwords
from conductor.api_db import zones
from objects.child_zone import ChildZone

# As those of "cell delete": no such zone, living servers in it, mappings of deleted ones.
EXIT_UNKNOWN_ZONE = 1
EXIT_BY_REASON = {"servers": 3, "leftovers": 4}

COLUMNS = ("UUID", "Name", "Disabled", "Transport URL")


def _row(zone: ChildZone) -> tuple[Any, ...]:
    return (zone.uuid, zone.name, zone.disabled, mask_passwords(zone.transport_url))


class _ZoneCommand:
    """What those have that read or write the records: the API database."""

    app: Any

    @cached_property
    def database(self) -> Database:
        return open_api(self.app.conf)


class ZoneAdd(_ZoneCommand, ShowOne):
    """Put a zone below this one; services take it up by themselves.

    The name is what the child calls itself ([zones] name), the transport URL that of the child's
    broker, with an account that the child made for its parent.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("name", help="[zones] name of the child")
        parser.add_argument("--transport-url", required=True, help="the child's broker")
        parser.add_argument("--disabled", action="store_true", help="ask it nothing for now")
        parser.add_argument(
            "--if-missing", action="store_true", help="be content when it exists already"
        )
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
        return COLUMNS, _row(zone)


class ZoneList(_ZoneCommand, Lister):
    """List the zones right below this one; passwords are masked."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        with self.database.reader() as session:
            return COLUMNS, [_row(zone) for zone in zones.list_zones(session)]


class ZoneUpdate(_ZoneCommand, ShowOne):
    """Change a zone. Services take it over by themselves."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("zone", help="UUID or name")
        parser.add_argument("--transport-url", help="new address of its broker, or new password")
        group = parser.add_mutually_exclusive_group()
        group.add_argument(
            "--disable", dest="disabled", action="store_const", const=True,
            help="no new servers there; those that live there go on and can be managed",
        )  # fmt: skip
        group.add_argument(
            "--enable", dest="disabled", action="store_const", const=False, help="new servers again"
        )
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        wanted = {"transport_url": parsed_args.transport_url, "disabled": parsed_args.disabled}
        values = {key: value for key, value in wanted.items() if value is not None}
        if not values:
            raise exception.Invalid(
                reason="nothing to change; give --transport-url, --disable or --enable"
            )
        with self.database.writer() as session:
            zone = zones.update_zone(session, parsed_args.zone, values, now=datetime.now(UTC))
        return COLUMNS, _row(zone)


class ZoneRemove(_ZoneCommand, Command):
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
        try:
            with self.database.writer() as session:
                zones.delete_zone(session, parsed_args.zone, force=parsed_args.force)
        except exception.ZoneNotFound as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_UNKNOWN_ZONE
        except exception.ZoneInUse as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_BY_REASON[error.kwargs["because"]]
        return 0


class ZoneRefresh(Command):
    """Have all zones of the tree push their summaries now; needs this zone's top broker."""

    app: Any

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        with peers(self.app.conf) as asked:
            asked.conductor.refresh_zones(asked.context)
