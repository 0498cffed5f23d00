"""Migrations: moves and resizes, in progress and finished."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any

from armillary.table_columns import cells
from programs.commands import arguments
from programs.commands.base import ApiCommand, ApiLister, ApiShow
from programs.commands.lookup import find_server
from programs.http_client import Document

MIB = 1024 * 1024
COLUMNS = ("ID", "Type", "Status", "Server", "From", "To", "Flavor", "Copied", "Created", "Updated")


class ListMigrations(ApiLister):
    """List migrations, newest first (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--server", help="only migrations of this server (id or name)")
        parser.add_argument("--host", help="only migrations from or to this host")
        parser.add_argument("--status", help="only migrations with this status")
        parser.add_argument("--type", dest="migration_type", help="only migrations of this type")
        parser.add_argument(
            "--limit", metavar="N", type=arguments.positive, help="maximum number of migrations"
        )
        return parser

    def take_action(
        self, parsed_args: argparse.Namespace
    ) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        query = {
            "host": parsed_args.host,
            "status": parsed_args.status,
            "migration_type": parsed_args.migration_type,
            "limit": parsed_args.limit,
        }
        if parsed_args.server:
            query["instance_uuid"] = find_server(self.api, parsed_args.server)["id"]
        given = {name: value for name, value in query.items() if value is not None}
        found = self.api.get("os-migrations", query=given)["migrations"]
        return COLUMNS, [_row(move) for move in found]


class ShowMigration(ApiShow):
    """Show one migration of a server (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _naming(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Sequence[str], Iterable[Any]]:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "migrations", parsed_args.migration)
        found = self.api.get(*path)["migration"]
        return tuple(found), cells(found.values())


class AbortMigration(ApiCommand):
    """Abort a live migration while memory is being copied (administrators)."""

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        return _naming(super().get_parser(prog_name))

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        self.api.delete("servers", server, "migrations", parsed_args.migration)
        return 0


def _naming(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    parser.add_argument("server", help="id or name")
    parser.add_argument("migration", help="id")
    return parser


def _row(move: Document) -> tuple[Any, ...]:
    flavors = [move["old_flavor"], move["new_flavor"]]
    total, done = move["memory_total_bytes"], move["memory_processed_bytes"]
    return cells(
        (
            move["id"],
            move["migration_type"],
            move["status"],
            move["instance_uuid"],
            move["source_compute"],
            move["dest_compute"],
            " > ".join(dict.fromkeys(name for name in flavors if name)),
            None if total is None or done is None else f"{done // MIB}/{total // MIB} MiB",
            move["created_at"],
            move["updated_at"],
        )
    )
