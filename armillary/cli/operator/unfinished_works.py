"""Look into the databases of a configuration for what is unfinished there."""

from __future__ import annotations

import dataclasses

from oslo_config import cfg

from armillary import exception
from armillary.cli.operator.databases import API, DATABASES, Known, is_configured
from conductor import unfinished
from conductor.api_db import unfinished as api
from conductor.cell_db import unfinished as cell
from conductor.unfinished import Group, Source, Work

CELL = next(known for known in DATABASES if known.name == "cell")
_SOURCES: dict[str, tuple[Source, ...]] = {API.name: api.SOURCES, CELL.name: cell.SOURCES}


@dataclasses.dataclass
class Found:
    """All that was found; ``errors`` says of each database that could not be read why."""

    databases: list[str] = dataclasses.field(default_factory=list)
    groups: list[Group] = dataclasses.field(default_factory=list)
    oldest: list[Work] = dataclasses.field(default_factory=list)
    errors: list[str] = dataclasses.field(default_factory=list)

    @property
    def total(self) -> int:
        """The number of works."""
        return sum(group.count for group in self.groups)


def find(conf: cfg.ConfigOpts, *, now_seconds: float, limit: int) -> Found:
    """Look into the API database and the cell's, those of them that are configured.

    Raises ConfigurationError when none is.
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
    found.oldest = unfinished.by_age(found.oldest)[:limit]
    return found


def _look(conf: cfg.ConfigOpts, known: Known, found: Found, now_seconds: float, limit: int) -> None:
    database = known.open(conf)
    try:
        database.check_version(known.schema)
        with database.reader() as session:
            for source in _SOURCES[known.name]:
                found.groups += unfinished.groups(session, source, now_seconds=now_seconds)
                found.oldest += unfinished.oldest(session, source, limit=limit)
    finally:
        database.dispose()
