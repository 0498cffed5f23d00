"""``armillary-manage placement audit``: find and release orphaned allocations."""

from argparse import ArgumentParser, Namespace
from datetime import UTC, datetime, timedelta

from conductor.super_conductor.repair.allocation_audit import (
    CLAIM,
    MOVE,
    SERVER,
    Audit,
    AuditOptions,
    AuditResult,
    Find,
)
from programs.display.progress import counted
from programs.operator.placement.placement_command import (
    EXIT_INCOMPLETE,
    PlacementCommand,
    parse_number,
    parse_uuid,
)
from programs.operator.service_clients import Peers

MIN_AGE_SECONDS = 600
SECONDS_MAX = 366 * 24 * 3600


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
