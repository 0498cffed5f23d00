"""``armillary-manage db archive`` and ``db purge``: deleted instances aside, and away for good."""

from __future__ import annotations

import argparse
import collections
import functools
import re
from abc import abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from cliff.command import Command
from oslo_config import cfg

from armillary import exception
from armillary.cli.operator.databases import DATABASES, Known, is_configured
from conductor.cell_db import shadow
from conductor.cell_db.shadow import Counts

EXIT_NOTHING = 0
EXIT_DONE = 1
EXIT_FAILED = 3

BATCH_SIZE = 500
"""So many instances in one transaction."""
ROWS_DEFAULT = 1000
ROWS_MAX = 10_000_000
SETTLED_AGE = timedelta(hours=1)
"""What was deleted later may still be named in messages on their way; its record answers them."""

_CELL = next(known for known in DATABASES if known.name == "cell")
_CELL0 = next(known for known in DATABASES if known.name == "cell0")

Step = Callable[..., Counts]
"""Given a session and a ``limit`` of instances, do a batch; return the rows by table."""


class _CellsCommand(Command):
    """What both have: cell databases, batches, and codes for how it went."""

    app: Any
    done: str

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--all-cells", action="store_true",
            help="all that the configuration has: [cell_database] and [cell0_database]; "
            "default: [cell_database]",
        )  # fmt: skip
        return parser

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
        """Return what does one batch."""

    def limit(self, parsed_args: argparse.Namespace) -> int | None:
        """Return how many instances there may be in one database; None: all."""
        return None

    def _work_on(self, known: Known, parsed_args: argparse.Namespace) -> int:
        """Do all batches of one database, and say what was done; return how many instances."""
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
            finally:
                self._say(known, counts)
        finally:
            database.dispose()
        return counts["instances"]

    def _say(self, known: Known, counts: collections.Counter[str]) -> None:
        rows = counts.total() - counts["instances"]
        self.app.stdout.write(
            f"{known.name}: {counts['instances']} instances {self.done}, with {rows} rows of "
            "theirs\n"
        )
        if self.app.options.verbose_level > 1:
            for table, count in sorted(counts.items()):
                self.app.stdout.write(f"  {table}: {count}\n")


class DbArchive(_CellsCommand):
    """Move deleted instances out of a cell's tables into its shadow tables.

    Their faults, actions, events and migrations go with them. It may run beside the services; what
    one still works on is left alone. --verbose says how many rows of each table were moved. Exit
    codes: 0 there was nothing to do; 1 instances were moved; 2 wrong input; 3 it failed, and what
    was moved until then stays moved; 78 a mistake in the configuration.
    """

    done = "archived"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument(
            "--before", metavar="DATE", type=_settled,
            help="move what was deleted before: 2030-01-31 or 2030-01-31T12:00, in UTC unless it "
            "says otherwise, at least an hour ago; default: an hour ago",
        )  # fmt: skip
        many = parser.add_mutually_exclusive_group()
        many.add_argument(
            "--max-rows", metavar="NUMBER", type=_rows, default=ROWS_DEFAULT,
            help="move so many instances of each database at most (default: %(default)s)",
        )  # fmt: skip
        many.add_argument("--until-complete", action="store_true", help="move all there are")
        return parser

    def limit(self, parsed_args: argparse.Namespace) -> int | None:
        return None if parsed_args.until_complete else parsed_args.max_rows

    def step(self, parsed_args: argparse.Namespace) -> Step:
        before = parsed_args.before or datetime.now(UTC) - SETTLED_AGE
        return functools.partial(shadow.archive, deleted_before=before)


class DbPurge(_CellsCommand):
    """Remove archived instances from a cell's shadow tables, for good.

    Exit codes: 0 there was nothing to do; 1 instances were removed; 2 wrong input; 3 it failed, and
    what was removed until then is gone; 78 a mistake in the configuration.
    """

    done = "removed"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        which = parser.add_mutually_exclusive_group(required=True)
        which.add_argument("--all", action="store_true", help="remove all that is archived")
        which.add_argument(
            "--before", metavar="DATE", type=_moment, help="remove what was deleted before"
        )
        return parser

    def step(self, parsed_args: argparse.Namespace) -> Step:
        return functools.partial(shadow.purge, deleted_before=parsed_args.before)


def _chosen(conf: cfg.ConfigOpts, *, all_cells: bool) -> list[Known]:
    """Return the databases that are meant. Raises ConfigurationError when there is none."""
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


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date such as 2030-01-31T12:00") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _settled(text: str) -> datetime:
    moment = _moment(text)
    if moment > datetime.now(UTC) - SETTLED_AGE:
        raise argparse.ArgumentTypeError(
            f"{text} is less than an hour ago: messages on their way may still name what was "
            "deleted then"
        )
    return moment


def _rows(text: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", text) or not 1 <= int(text) <= ROWS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 1 to {ROWS_MAX}")
    return int(text)
