"""Search the configured databases for unfinished tasks."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from armillary import exception
from conductor.common import unfinished_work
from conductor.common.cell_db import unfinished as cell
from conductor.common.unfinished_work import Group, Source, Work
from conductor.super_conductor.db import unfinished as api
from programs.operator.databases import API, DATABASES, Known, is_configured

CELL = next(known for known in DATABASES if known.name == "cell")
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
        """Total number of tasks."""
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
