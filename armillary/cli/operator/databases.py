"""The databases an operator's program can reach with the configuration it was given."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception
from armillary.db import Database


@dataclasses.dataclass(frozen=True)
class Known:
    """A database by the name operators use, its option group, and where its migrations are."""

    name: str
    group: str
    schema: str

    def open(self, conf: cfg.ConfigOpts) -> Database:
        """Return the database; it connects when it is used."""
        return Database.from_conf(conf[self.group], self.name)


DATABASES = (
    Known("api", "api_database", "conductor.api_db.schema"),
    Known("cell0", "cell0_database", "conductor.cell_db.schema"),
    Known("cell", "cell_database", "conductor.cell_db.schema"),
    Known("placement", "placement_database", "placement.db.schema"),
)

NAMES = tuple(database.name for database in DATABASES)


def chosen(conf: cfg.ConfigOpts, names: Sequence[str]) -> list[Known]:
    """Return the named databases, or those that the configuration files give a connection.

    Raises ConfigurationError when none is left.
    """
    if names:
        return [database for database in DATABASES if database.name in names]
    found = [database for database in DATABASES if _is_configured(conf, database)]
    if not found:
        groups = ", ".join(f"[{database.group}]" for database in DATABASES)
        raise exception.ConfigurationError(
            reason=f"no connection is set in any of {groups}; set one, or name a database: "
            f"{', '.join(NAMES)}"
        )
    return found


def _is_configured(conf: cfg.ConfigOpts, database: Known) -> bool:
    found = conf.get_location("connection", database.group)
    return found is not None and bool(found.location.is_user_controlled)
