"""``armillary-manage placement``: compare placement with the cells, and repair differences."""

from __future__ import annotations

import argparse
import re
import uuid
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from cliff.command import Command

from armillary import exception
from conductor.super_conductor.repair.allocation_audit import (
    MOVE,
    SERVER,
    Audit,
    AuditOptions,
    AuditResult,
    Find,
)
from conductor.super_conductor.repair.heal_allocations import HealOptions, HealResult
from programs.commands.progress import Show, progress
from programs.operator.placement_heal import make_heal
from programs.operator.placement_sync import Sync, SyncResult
from programs.operator.service_clients import Peers, peers

EXIT_INVALID = 127
EXIT_INCOMPLETE = 10
"""A cell did not answer; its servers were skipped."""

MIN_AGE_SECONDS = 600
SECONDS_MAX = 366 * 24 * 3600

_CLEAR_LINE = "\r\x1b[2K"  # clears the progress bar, which is redrawn below


class _BadInput(Exception):
    """Invalid input."""


class _PlacementCommand(Command):
    """Common part: clients, output, progress, and exit codes for errors.

    ``exit_unexpected`` is the code that scripts expect of each command from Nova.
    """

    app: Any
    exit_unexpected = 1
    _line_start = ""

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        try:
            with peers(self.app.conf) as found:
                return self.work(parsed_args, found)
        except _BadInput as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_INVALID
        except exception.ConfigurationError:
            raise
        except exception.ArmillaryError as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return self.exit_unexpected

    @abstractmethod
    def work(self, parsed_args: argparse.Namespace, found: Peers) -> int:
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


def _add_dry_run(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would be done")


def _uuid(text: str | None) -> str | None:
    try:
        return None if text is None else str(uuid.UUID(text))
    except ValueError:
        raise _BadInput(f"{text!r} is not a UUID") from None


def _number(text: str, what: str, lowest: int, highest: int) -> int:
    if not re.fullmatch("[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise _BadInput(f"{what} must be a number from {lowest} to {highest}, not {text!r}")
    return int(text)


class PlacementAudit(_PlacementCommand):
    """Find orphaned allocations of servers and migrations, and release them with --delete.

    Skips consumers that a conductor is building or deleting, that are of another type, or that
    changed just now; --verbose shows the reason for each. Exit codes: 0 nothing found; 1 failed; 3
    orphaned allocations were found; 4 all that were found were released; 10 a cell did not answer,
    its servers were skipped; 127 invalid input.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("--delete", action="store_true", help="release orphaned allocations")
        parser.add_argument(
            "--resource-provider", metavar="UUID",
            help="only consumers of this resource provider, even if it is not a known host",
        )  # fmt: skip
        parser.add_argument(
            "--min-age", metavar="SECONDS", default=str(MIN_AGE_SECONDS),
            help="skip consumers that changed within this many seconds (default: %(default)s)",
        )  # fmt: skip
        return parser

    def work(self, parsed_args: argparse.Namespace, found: Peers) -> int:
        age = _number(parsed_args.min_age, "--min-age", 0, SECONDS_MAX)
        options = AuditOptions(
            delete=parsed_args.delete,
            provider=_uuid(parsed_args.resource_provider),
            min_age=timedelta(seconds=age),
        )
        total = found.placement.get_usage_totals(found.context)["consumers"]
        with self.progress("consumers", total) as show:
            result = Audit(
                found.context,
                found.placement,
                _finders(found),
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
            f"{result.looked_at} consumers checked: {result.orphans} orphaned, "
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


def _finders(found: Peers) -> dict[str, Find]:
    """Return the lookups of servers and of migrations."""
    return {
        SERVER: found.conductor.find_orphans,
        MOVE: found.conductor.find_orphan_migrations,
    }


def audit_code(result: AuditResult) -> int:
    """Return the exit code of an audit."""
    if result.down_cells:
        return EXIT_INCOMPLETE
    if not result.orphans:
        return 0
    return 4 if result.released == result.orphans else 3


class PlacementHealAllocations(_PlacementCommand):
    """Create missing allocations of servers from their flavors.

    Skips servers with a task in progress; --verbose names them. Exit codes: 0 some were healed; 1
    --max-count was reached and there are more; 2 a server's compute node is unknown; 3 placement
    refused an allocation, or a server has allocations on another host; 4 nothing was healed, as in
    a dry run; 10 a cell did not answer, its servers were skipped; 127 invalid input, or no such
    server; 255 failed.
    """

    exit_unexpected = 255

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        parser.add_argument("--instance", metavar="UUID", help="only this server")
        parser.add_argument(
            "--max-count", metavar="N", help="maximum number of servers to heal (default: all)"
        )
        _add_dry_run(parser)
        return parser

    def work(self, parsed_args: argparse.Namespace, found: Peers) -> int:
        options = HealOptions(max_count=_max_count(parsed_args), dry_run=parsed_args.dry_run)
        instance = _uuid(parsed_args.instance)
        with self.progress("servers", None) as show:
            heal = make_heal(
                found, options, instance=instance, say=self.say, tell=self.tell, show=show
            )
            try:
                result = heal.run()
            except exception.InstanceNotFound as error:
                raise _BadInput(str(error)) from error
            except exception.CellUnavailable as error:  # of the server named by --instance
                self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
                return EXIT_INCOMPLETE
        would = "would be " if options.dry_run else ""
        self.say(f"{result.looked_at} servers checked: {result.healed} {would}healed")
        self.warn_of(result.down_cells)
        return heal_code(result, dry_run=options.dry_run)


def _max_count(parsed_args: argparse.Namespace) -> int | None:
    if parsed_args.max_count is None:
        return None
    if parsed_args.instance is not None:
        raise _BadInput("--max-count and --instance are mutually exclusive")
    return _number(parsed_args.max_count, "--max-count", 1, 2**31 - 1)


def heal_code(result: HealResult, *, dry_run: bool) -> int:
    """Return the exit code of heal-allocations."""
    by_code = {
        3: result.refused + result.misplaced,
        2: result.without_node,
        EXIT_INCOMPLETE: result.down_cells,
        1: result.is_cut_short,
    }
    worst = next((code for code, is_so in by_code.items() if is_so), None)
    if worst is not None:
        return worst
    return 0 if result.healed and not dry_run else 4


class PlacementSyncAggregates(_PlacementCommand):
    """Make placement's aggregates contain exactly the compute nodes of the hosts in each aggregate.

    The super conductor also does this periodically; the command does it at once and shows the
    differences. Exit codes: 0 success; 2 placement could not be read; 3 placement could not be
    written; 4 hosts are mapped to no cell; 5 hosts have no compute nodes; 6 placement does not know
    compute nodes; 255 failed.
    """

    exit_unexpected = 255

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser: argparse.ArgumentParser = super().get_parser(prog_name)
        _add_dry_run(parser)
        return parser

    def work(self, parsed_args: argparse.Namespace, found: Peers) -> int:
        aggregates = found.conductor.list_aggregates(found.context)
        with self.progress("aggregates", len(aggregates)) as show:
            sync = Sync(found, dry_run=parsed_args.dry_run, say=self.say, show=show)
            result = sync.run(aggregates)
        would = "would be " if parsed_args.dry_run else ""
        self.say(f"{result.looked_at} aggregates checked: {result.changed} {would}changed")
        return sync_code(result)


def sync_code(result: SyncResult) -> int:
    """Return the exit code of a sync."""
    by_code: Mapping[int, int] = {
        2: result.unread,
        3: result.unwritten,
        4: result.unmapped_hosts,
        5: result.hosts_without_nodes,
        6: result.unknown_providers,
    }
    return next((code for code, count in by_code.items() if count), 0)
