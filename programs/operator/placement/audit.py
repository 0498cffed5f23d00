"""``armillary-manage placement``: common part of the commands, and the audit."""

import re
import uuid
from abc import abstractmethod
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from armillary import exception
from conductor.super_conductor.repair.allocation_audit import (
    CLAIM,
    MOVE,
    SERVER,
    Audit,
    AuditOptions,
    AuditResult,
    Find,
)
from programs.application import WithOptions
from programs.display.progress import Show, counted, progress
from programs.operator.service_clients import Peers, peers

EXIT_INVALID = 127
EXIT_INCOMPLETE = 10
"""A cell did not answer; its servers were skipped."""

MIN_AGE_SECONDS = 600
SECONDS_MAX = 366 * 24 * 3600

_CLEAR_LINE = "\r\x1b[2K"  # clears the progress bar, which is redrawn below


class BadInput(Exception):
    """Invalid input."""


class PlacementCommand(WithOptions):
    """Common part: clients, output, progress, and exit codes for errors."""

    app: Any
    exit_unexpected = 1
    """Exit code for errors that scripts expect of this command from Nova."""
    _line_start = ""

    def take_action(self, parsed_args: Namespace) -> int:
        try:
            with peers(self.app.conf) as found:
                return self.work(parsed_args, found)
        except BadInput as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_INVALID
        except exception.ConfigurationError:
            raise
        except exception.ArmillaryError as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return self.exit_unexpected

    @abstractmethod
    def work(self, parsed_args: Namespace, found: Peers) -> int:
        """Run the command; return the exit code."""

    def say(self, line: str) -> None:
        """Print a line."""
        self.app.stdout.write(f"{self._line_start}{line}\n")

    def tell(self, line: str) -> None:
        """Print a line with ``--verbose`` only, an option of all commands."""
        if self.app.options.verbose_level > 1:
            self.say(line)

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Show]:
        """Show progress on a terminal, and nowhere else."""
        stream = self.app.stderr
        if stream.isatty() and self.app.stdout.isatty():
            self._line_start = _CLEAR_LINE
        try:
            with progress(stream, title, total, quiet=not stream.isatty()) as show:
                yield show
        finally:
            self._line_start = ""

    def warn_of(self, down_cells: set[str]) -> None:
        """Report the cells that did not answer."""
        for name in sorted(down_cells):
            self.app.stderr.write(f"cell {name} does not answer; its servers are skipped\n")


def parse_uuid(text: str | None) -> str | None:
    """Return a UUID in its usual form. Raises ``BadInput``."""
    try:
        return None if text is None else str(uuid.UUID(text))
    except ValueError:
        raise BadInput(f"{text!r} is not a UUID") from None


def parse_number(text: str, what: str, lowest: int, highest: int) -> int:
    """Return a number within bounds. Raises ``BadInput``."""
    if not re.fullmatch("[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise BadInput(f"{what} must be a number from {lowest} to {highest}, not {text!r}")
    return int(text)


class PlacementAudit(PlacementCommand):
    """Find orphaned allocations of servers and migrations, and release them with --delete.

    Skips consumers that a conductor is building or deleting, that are of another type, or that
    changed just now; --verbose shows the reason for each. Exit codes: 0 nothing found; 1 failed; 3
    orphaned allocations were found; 4 all that were found were released; 10 a cell did not answer,
    its servers were skipped; 127 invalid input.
    """

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--delete", action="store_true", help="release orphaned allocations")
        parser.add_argument(
            "--resource-provider", metavar="UUID",
            help="only consumers of this resource provider, even if it is not a known host",
        )  # fmt: skip
        parser.add_argument(
            "--min-age", metavar="SECONDS", default=str(MIN_AGE_SECONDS),
            help="skip consumers that changed within this many seconds (default: %(default)s)",
        )  # fmt: skip

    def work(self, parsed_args: Namespace, found: Peers) -> int:
        age = parse_number(parsed_args.min_age, "--min-age", 0, SECONDS_MAX)
        options = AuditOptions(
            delete=parsed_args.delete,
            provider=parse_uuid(parsed_args.resource_provider),
            min_age=timedelta(seconds=age),
        )
        total = found.placement.get_usage_totals(found.context).consumers
        with self.progress("consumers", total) as show:
            finders: dict[str, Find] = {
                SERVER: found.conductor.find_orphans,
                MOVE: found.conductor.find_orphan_migrations,
                CLAIM: found.conductor.find_orphan_claims,
            }
            result = Audit(
                found.context,
                found.placement,
                finders,
                options,
                now=lambda: datetime.now(UTC),
                say=self.say,
                tell=self.tell,
                show=show,
            ).run()
        self._sum_up(result)
        self.warn_of(result.down_cells)
        return audit_code(result)

    def _sum_up(self, result: AuditResult) -> None:
        self.say(
            f"{counted(result.looked_at, 'consumer')} checked: {result.orphans} orphaned, "
            f"{result.released} of them released"
        )
        for count, what in (
            (result.foreign, "unknown, and on no known host"),
            (result.unsure, "perhaps in a cell that does not answer"),
            (result.young, "changed just now"),
            (result.other_types, "of another type"),
        ):
            if count:
                self.say(f"{count} skipped: {what}")


def audit_code(result: AuditResult) -> int:
    """Return the exit code of an audit."""
    if result.down_cells:
        return EXIT_INCOMPLETE
    if not result.orphans:
        return 0
    return 4 if result.released == result.orphans else 3
