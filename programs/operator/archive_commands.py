"""``armillary-manage db archive`` and ``db purge``: archive and remove deleted instances."""

import argparse
import collections
import functools
import re
import time
from abc import abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.db import Database
from conductor.common.cell_db import shadow_tables
from conductor.common.cell_db.shadow_tables import Counts
from programs.application import WithOptions
from programs.commands import arguments
from programs.display.progress import counted
from programs.operator.databases import DATABASES, Known, is_configured

EXIT_NOTHING = 0
EXIT_DONE = 1
EXIT_FAILED = 3

BATCH_SIZE = 500
"""Number of instances per transaction."""
ROWS_DEFAULT = 1000
ROWS_MAX = 10_000_000
SETTLED_AGE = timedelta(hours=1)
"""Messages in flight may still refer to instances deleted later, so their records stay."""

_CELL = next(known for known in DATABASES if known.name == "cell")
_CELL0 = next(known for known in DATABASES if known.name == "cell0")

Step = Callable[..., Counts]
"""Given a session and a ``limit`` of instances, process a batch; return the rows by table."""


class _CellsCommand(WithOptions):
    """Common part: cell databases, batches and exit codes."""

    app: Any
    done: str

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--all-cells", action="store_true",
            help="all databases in the configuration: [cell_database] and [cell0_database]; "
                "default: [cell_database]",
        )  # fmt: skip

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        chosen = _chosen(self.app.conf, all_cells=parsed_args.all_cells)
        total = 0
        try:
            for known in chosen:
                total += self._work_on(known, parsed_args)
        except exception.ConfigurationError:
            raise
        except Exception as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_FAILED
        return EXIT_DONE if total else EXIT_NOTHING

    @abstractmethod
    def step(self, parsed_args: argparse.Namespace) -> Step:
        """Return the function that processes one batch."""

    def limit(self, parsed_args: argparse.Namespace) -> int | None:
        """Return the maximum number of instances per database; None: all."""
        return None

    def pause(self, parsed_args: argparse.Namespace) -> None:
        """Wait between two batches."""

    def finish(self, database: Database, parsed_args: argparse.Namespace) -> None:
        """Do what remains in a database whose batches are done."""

    def _work_on(self, known: Known, parsed_args: argparse.Namespace) -> int:
        """Process all batches of one database and report them; return the number of instances."""
        database = known.open(self.app.conf)
        try:
            database.check_version(known.schema)
            step, left = self.step(parsed_args), self.limit(parsed_args)
            counts: collections.Counter[str] = collections.Counter()
            try:
                while left is None or counts["instances"] < left:
                    size = BATCH_SIZE if left is None else left - counts["instances"]
                    size = min(size, BATCH_SIZE)
                    batch = database.run_in_writer(functools.partial(step, limit=size))
                    counts.update(batch)
                    if batch.get("instances", 0) < size:
                        break
                    self.pause(parsed_args)
                self.finish(database, parsed_args)
            finally:
                self._say(known, counts)
        finally:
            database.dispose()
        return counts["instances"]

    def _say(self, known: Known, counts: collections.Counter[str]) -> None:
        rows = counts.total() - counts["instances"]
        self.app.stdout.write(
            f"{known.name}: {self.done} {counted(counts['instances'], 'instance')} and "
            f"{counted(rows, 'related row')}\n"
        )
        if self.app.options.verbose_level > 1:
            for table, count in sorted(counts.items()):
                self.app.stdout.write(f"  {table}: {count}\n")


class DbArchive(_CellsCommand):
    """Move deleted instances out of a cell's tables into its shadow tables.

    Their faults, actions, events and migrations are moved with them. It can run next to the
    services; instances that a service still works on are skipped. --verbose shows the number of
    rows moved per table. Exit codes: 0 nothing to do; 1 instances were moved; 2 invalid input; 3
    failed, what was moved until then stays moved; 78 configuration error.
    """

    done = "archived"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--before", metavar="DATE", type=_settled,
            help="move instances deleted before this time: 2030-01-31 or 2030-01-31T12:00, in "
                "UTC unless it has a time zone, at least an hour ago; default: an hour ago",
        )  # fmt: skip
        parser.add_argument(
            "--purge", action="store_true", help="then remove all archived instances permanently"
        )
        parser.add_argument(
            "--sleep", metavar="SECONDS", type=float, default=0.0,
            help="pause between transactions (default: %(default)g)",
        )  # fmt: skip
        many = parser.add_mutually_exclusive_group()
        many.add_argument(
            "--max-rows", metavar="NUMBER", type=_rows, default=ROWS_DEFAULT,
            help="maximum number of instances to move per database (default: %(default)s)",
        )  # fmt: skip
        many.add_argument("--until-complete", action="store_true", help="move all instances")

    def finish(self, database: Database, parsed_args: argparse.Namespace) -> None:
        if parsed_args.purge:
            purge = functools.partial(shadow_tables.purge, deleted_before=None, limit=BATCH_SIZE)
            while database.run_in_writer(purge).get("instances", 0):
                pass

    def pause(self, parsed_args: argparse.Namespace) -> None:
        time.sleep(max(0.0, parsed_args.sleep))

    def limit(self, parsed_args: argparse.Namespace) -> int | None:
        return None if parsed_args.until_complete else parsed_args.max_rows

    def step(self, parsed_args: argparse.Namespace) -> Step:
        before = parsed_args.before or datetime.now(UTC) - SETTLED_AGE
        return functools.partial(shadow_tables.archive, deleted_before=before)


class DbPurge(_CellsCommand):
    """Remove archived instances from a cell's shadow tables permanently.

    Exit codes: 0 nothing to do; 1 instances were removed; 2 invalid input; 3 failed, what was
    removed until then is gone; 78 configuration error.
    """

    done = "removed"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--all", action="store_true", help="remove all archived instances")
        which.add_argument(
            "--before",
            metavar="DATE",
            type=arguments.time,
            help="remove instances deleted before this time",
        )

    def step(self, parsed_args: argparse.Namespace) -> Step:
        return functools.partial(shadow_tables.purge, deleted_before=parsed_args.before)


def _chosen(conf: cfg.ConfigOpts, *, all_cells: bool) -> list[Known]:
    """Return the selected databases. Raises ConfigurationError if there is none."""
    wanted = (_CELL0, _CELL) if all_cells else (_CELL,)
    found = [known for known in wanted if is_configured(conf, known)]
    if not found:
        groups = " and ".join(f"[{known.group}]" for known in wanted)
        more = "" if all_cells else ", or cell0's with --all-cells"
        raise exception.ConfigurationError(
            reason=f"no connection is set in {groups}; give a cell conductor's configuration with "
            f"--config-file{more}"
        )
    return found


def _settled(text: str) -> datetime:
    moment = arguments.time(text)
    if moment > datetime.now(UTC) - SETTLED_AGE:
        raise argparse.ArgumentTypeError(
            f"{text} is less than an hour ago: messages in flight may still refer to "
            "instances deleted then"
        )
    return moment


def _rows(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= ROWS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to {ROWS_MAX}")
    return int(text)
