"""``armillary-manage db``: schemas of the three kinds of databases."""

import argparse
from typing import Any

from armillary.db import errors, online_migrations
from programs.application import WithOptions
from programs.commands import arguments
from programs.display.output import Lister
from programs.operator import databases


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


class DbOnlineDataMigrations(_DatabaseCommand, Lister):
    """Migrate data in small batches while the services run.

    The exit code is 0 when nothing is left, 1 when --max-count was reached, 2 when a migration
    failed.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--max-count",
            metavar="N",
            type=arguments.positive,
            help="maximum number of rows; default: all",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        left: int | None = parsed_args.max_count
        rows, has_failed = [], False
        for known in databases.chosen(self.app.conf, parsed_args.databases):
            database = known.open(self.app.conf)
            database.check_version(known.schema)
            for outcome in online_migrations.run(database, known.schema, left):
                left = None if left is None else left - outcome.changed
                has_failed = has_failed or outcome.error is not None
                failed = "" if outcome.error is None else errors.reason_of(outcome.error)
                rows.append((known.name, outcome.name, outcome.changed, failed))
        self._exit_code = 2 if has_failed else int(left == 0)
        return ("Database", "Migration", "Rows changed", "Error"), rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        return self._exit_code
