"""Migrations: moves and resizes, in progress and finished."""

from argparse import ArgumentParser, Namespace

from armillary.table_columns import ShortId, cells
from programs.commands import arguments, base
from programs.commands.lookup import find_server
from programs.http_client import Document

MIB = 1024 * 1024


def _flavors(move: Document) -> str:
    flavors = (move["old_flavor"], move["new_flavor"])
    return " > ".join(dict.fromkeys(name for name in flavors if name))


def _copied(move: Document) -> str | None:
    total, done = move["memory_total_bytes"], move["memory_processed_bytes"]
    return None if total is None or done is None else f"{done // MIB}/{total // MIB} MiB"


COLUMNS: base.Columns = {
    "Server": lambda move: ShortId(move["instance_uuid"]),
    "Type": "migration_type",
    "Status": "status",
    "From": "source_compute",
    "To": "dest_compute",
    "Age": base.age("created_at"),
    "Flavor": _flavors,
    "Copied": _copied,
    "ID": lambda move: ShortId(move["uuid"]),
}


class ListMigrations(base.ApiLister):
    """List migrations, newest first (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--server", help="only migrations of this server (id or name)")
        parser.add_argument("--host", help="only migrations from or to this host")
        parser.add_argument("--status", help="only migrations with this status")
        parser.add_argument("--type", dest="migration_type", help="only migrations of this type")
        parser.add_argument(
            "--limit", metavar="N", type=arguments.positive, help="maximum number of migrations"
        )

    def take_action(self, parsed_args: Namespace) -> base.Table:
        server = parsed_args.server
        query = arguments.given(
            host=parsed_args.host,
            status=parsed_args.status,
            migration_type=parsed_args.migration_type,
            limit=parsed_args.limit,
            instance_uuid=find_server(self.api, server)["id"] if server else None,
        )
        return base.table(COLUMNS, self.api.get("os-migrations", query=query)["migrations"])


class ShowMigration(base.ApiShow):
    """Show one migration of a server (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        _add_names(parser)

    def take_action(self, parsed_args: Namespace) -> base.Record:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "migrations", parsed_args.migration)
        found = self.api.get(*path)["migration"]
        return tuple(found), cells(found.values())


class AbortMigration(base.ApiCommand):
    """Abort a live migration while memory is being copied (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        _add_names(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        self.api.delete("servers", server, "migrations", parsed_args.migration)
        return 0


class ForceMigration(base.ApiCommand):
    """Complete a live migration immediately; the guest is paused meanwhile (administrators)."""

    def add_options(self, parser: ArgumentParser) -> None:
        _add_names(parser)

    def take_action(self, parsed_args: Namespace) -> int:
        server = find_server(self.api, parsed_args.server)["id"]
        path = ("servers", server, "migrations", parsed_args.migration, "action")
        self.api.post(*path, body={"force_complete": None})
        return 0


def _add_names(parser: ArgumentParser) -> None:
    parser.add_argument("server", help="id or name")
    parser.add_argument("migration", help="id")
