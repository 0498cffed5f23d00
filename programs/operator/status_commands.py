"""``armillary-status``: readiness of a deployment for this release, and unfinished tasks."""

import argparse
import dataclasses
import json
import re
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.table_columns import printable
from conductor.cell_conductor.operations.move_stages import SCHEDULE
from conductor.common import unfinished_work
from conductor.common.cell_db import unfinished as cell
from conductor.common.unfinished_work import Source, Work
from conductor.super_conductor.db import unfinished as api
from objects.hosts.activity import WorkCount
from programs.application import WithOptions
from programs.display.output import Lister
from programs.operator.check_results import Code
from programs.operator.checks import CHECKS, run_check
from programs.operator.databases import API, DATABASES, Known, is_configured

CELL = next(known for known in DATABASES if known.name == "cell")
HEADINGS = ("Table", "Operation", "Stage", "Count", "Free", "Oldest")

_SOURCES: dict[str, tuple[Source, ...]] = {API.name: api.SOURCES, CELL.name: cell.SOURCES}


@dataclasses.dataclass
class Found:
    """The tasks found; ``errors`` has the reason for each database that could not be read."""

    databases: list[str] = dataclasses.field(default_factory=list)
    groups: list[WorkCount] = dataclasses.field(default_factory=list)
    oldest: list[Work] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)

    @property
    def total(self) -> int:
        return sum(group.count for group in self.groups)


def find(conf: cfg.ConfigOpts, *, now_seconds: float, limit: int) -> Found:
    """Search the API database and the cell's, as far as they are configured.

    Raises ConfigurationError if neither is.
    """
    chosen = [known for known in (API, CELL) if is_configured(conf, known)]
    if not chosen:
        raise exception.ConfigurationError(
            reason="no connection is set in [api_database] or [cell_database]; give the "
            "configuration of a conductor with --config-file"
        )
    found = Found()
    for known in chosen:
        try:
            _look(conf, known, found, now_seconds, limit)
        except exception.ArmillaryError as error:
            found.errors.append(f"{known.name}: {error}")
        else:
            found.databases.append(known.name)
    found.oldest = unfinished_work.by_age(found.oldest)[:limit]
    return found


def _look(conf: cfg.ConfigOpts, known: Known, found: Found, now_seconds: float, limit: int) -> None:
    database = known.open(conf)
    try:
        database.check_version(known.schema)
        with database.reader() as session:
            for source in _SOURCES[known.name]:
                found.groups += unfinished_work.counts(session, source, now_seconds=now_seconds)
                found.oldest += unfinished_work.oldest(session, source, limit=limit)
    finally:
        database.dispose()


def lines(found: Found, *, now_seconds: float) -> list[str]:
    where = " and ".join(found.databases) or "no database"
    if not found.groups:
        return [f"Nothing is unfinished in {where}."]
    free = sum(group.free for group in found.groups)
    text = [f"Unfinished in {where}: {found.total}, {free} of them without a worker.", ""]
    text += _aligned([HEADINGS, *(_cells(group, now_seconds) for group in found.groups)])
    text += ["", "The oldest:"]
    for work in found.oldest:
        text += _of_work(work, now_seconds)
    return text


def _cells(group: WorkCount, now_seconds: float) -> tuple[str, ...]:
    return (
        group.table, group.operation or "-", group.stage,
        str(group.count), str(group.free), _age(group.oldest_since, now_seconds),
    )  # fmt: skip


def _of_work(work: Work, now_seconds: float) -> list[str]:
    what = " ".join(word for word in (work.table, work.operation) if word)
    whose = work.instance_uuid or work.reservation_id or "?"
    parts = [f"  {whose}  {what}: {work.stage}", f"since {_moment(work.since)}"]
    parts.append(f"({_age(work.since, now_seconds)})")
    if work.tries is not None:
        parts.append(f"tries {work.tries}")
    text = [f"{' '.join(parts)}; {_state(work, now_seconds)}"]
    if work.failure:
        text.append(f"    last failure: {printable(' '.join(work.failure.split()))}")
    return text


def _state(work: Work, now_seconds: float) -> str:
    if work.lease_expires_at <= now_seconds:
        return "no worker; the next recovery scan resumes it"
    until = _moment(datetime.fromtimestamp(work.lease_expires_at, UTC))
    if work.lease_owner is None and work.stage == SCHEDULE:
        return f"waits for the super conductor, which is asked again at {until}"
    if work.lease_owner is None:
        return f"retried at {until}"
    return f"leased by {printable(work.lease_owner)} until {until}"


def _moment(moment: datetime | None) -> str:
    return "an unknown time" if moment is None else f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _age(since: datetime | None, now_seconds: float) -> str:
    return "unknown" if since is None else f"{max(0.0, now_seconds - since.timestamp()):.0f} s"


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


EXIT_NOTHING = 0
EXIT_OLD = 1
EXIT_FAILED = 2

OLDER_THAN_SECONDS = 600
OLDEST_SHOWN = 10
OLDEST_SHOWN_MAX = 10_000


class UpgradeCheck(Lister):
    """Check whether services of this release can be started on this deployment.

    Exit codes: 0 success, 1 warnings, 2 failures that must be fixed first, 255 the check itself
    failed.
    """

    app: Any

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        results = [(name, run_check(check, self.app.conf)) for name, check in CHECKS]
        self._worst = max((result.code for _, result in results), default=Code.SUCCESS)
        rows = [(name, result.code.name.capitalize(), result.details) for name, result in results]
        return ("Check", "Result", "Details"), rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        return int(self._worst)


class Recovery(WithOptions):
    """Show unfinished tasks in the API database and the cell's, and their age.

    These are the tasks that conductors work on or that wait for one: reservations, cleanups and
    moves in the API database; builds, deletes and operations in the cell's. Run it with the
    configuration of the super conductor, and with that of each cell's conductor.

    Exit codes: 0 no task is older than --older-than; 1 a task is, or its age is unknown; 2 usage
    error, or a database could not be read.
    """

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", metavar="SECONDS", type=_seconds, default=OLDER_THAN_SECONDS,
            help="age in seconds from which on a task is reported as stuck (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--limit", metavar="NUMBER", type=_shown, default=OLDEST_SHOWN,
            help="number of oldest tasks to show (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print JSON")

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        now_seconds = time.time()
        try:
            found = find(self.app.conf, now_seconds=now_seconds, limit=parsed_args.limit)
        except exception.ArmillaryError as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_FAILED
        if parsed_args.json:
            self.app.stdout.write(f"{_as_json(found, now_seconds)}\n")
        else:
            text = lines(found, now_seconds=now_seconds)
            self.app.stdout.write("".join(f"{line}\n" for line in text))
        for reason in found.errors:
            self.app.LOG.error(reason)
        if found.errors:
            return EXIT_FAILED
        return EXIT_OLD if _is_amiss(found, now_seconds - parsed_args.older_than) else EXIT_NOTHING


def _is_amiss(found: Found, moment_seconds: float) -> bool:
    since = [group.oldest_since for group in found.groups]
    return any(each is None or each.timestamp() < moment_seconds for each in since)


def _as_json(found: Found, now_seconds: float) -> str:
    def age_seconds(since: datetime | None) -> float | None:
        return None if since is None else round(max(0.0, now_seconds - since.timestamp()), 3)

    document = {
        "databases": found.databases,
        "total": found.total,
        "groups": [
            {**dataclasses.asdict(group), "age_seconds": age_seconds(group.oldest_since)}
            for group in found.groups
        ],
        "oldest": [
            {**dataclasses.asdict(work), "age_seconds": age_seconds(work.since)}
            for work in found.oldest
        ],
        "errors": found.errors,
    }
    return json.dumps(document, indent=2, default=datetime.isoformat)


def _seconds(text: str) -> float:
    return float(_number(text, 0, 10**9))


def _shown(text: str) -> int:
    return _number(text, 0, OLDEST_SHOWN_MAX)


def _number(text: str, lowest: int, highest: int) -> int:
    if not re.fullmatch("[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")
    return int(text)
