"""Unfinished tasks in the configured databases: the search for them, and their text."""

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime

from oslo_config import cfg

from armillary import exception
from armillary.table_columns import printable
from conductor.cell_conductor.operations.move_stages import SCHEDULE
from conductor.common import unfinished_work
from conductor.common.cell_db import unfinished as cell
from conductor.common.unfinished_work import Group, Source, Work
from conductor.super_conductor.db import unfinished as api
from programs.operator.databases import API, DATABASES, Known, is_configured

CELL = next(known for known in DATABASES if known.name == "cell")
HEADINGS = ("Table", "Operation", "Stage", "Count", "Free", "Oldest")

_SOURCES: dict[str, tuple[Source, ...]] = {API.name: api.SOURCES, CELL.name: cell.SOURCES}


@dataclasses.dataclass
class Found:
    """The tasks found; ``errors`` has the reason for each database that could not be read."""

    databases: list[str] = dataclasses.field(default_factory=list)
    groups: list[Group] = dataclasses.field(default_factory=list)
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
                found.groups += unfinished_work.groups(session, source, now_seconds=now_seconds)
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


def _cells(group: Group, now_seconds: float) -> tuple[str, ...]:
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
