"""``armillary-manage db``: schemas of the three kinds of databases."""

import argparse
from typing import Any

from programs.application import WithOptions
from programs.operator import databases
from programs.output import Lister


def _name(text: str) -> str:
    """Return a database's name; ``choices`` would reject an empty list."""
    if text not in databases.NAMES:
        raise argparse.ArgumentTypeError(
            f"no database is named {text!r}; choose from {', '.join(databases.NAMES)}"
        )
    return text


class _DatabaseCommand(WithOptions):
    """A command for some or all databases."""

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "databases",
            nargs="*",
            metavar="DATABASE",
            type=_name,
            help=f"{', '.join(databases.NAMES)}; default: all whose connection is configured",
        )


class DbSync(_DatabaseCommand):
    """Migrate the tables to the version of this release. Idempotent; safe to run concurrently."""

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        for known in databases.chosen(self.app.conf, parsed_args.databases):
            database = known.open(self.app.conf)
            before = database.current_version(known.schema)
            after = database.sync(known.schema)
            word = "is at" if before == after else f"{before or 'empty'} ->"
            self.app.stdout.write(f"{known.name}: {word} {after}\n")


class DbVersion(_DatabaseCommand, Lister):
    """Show the version of the tables and the version that this release needs."""

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        rows = []
        for known in databases.chosen(self.app.conf, parsed_args.databases):
            database = known.open(self.app.conf)
            rows.append(
                (
                    known.name,
                    database.current_version(known.schema) or "",
                    database.head_version(known.schema),
                )
            )
        return ("Database", "Version", "Needed"), rows


class DbOnlineDataMigrations(WithOptions):
    """Migrate data in small batches while the services run; this release has nothing to migrate."""

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--max-count", metavar="N", type=int, help="maximum number of rows")

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        self.app.stdout.write("This release has no online data migrations.\n")
        return 0
