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


API = Known("api", "api_database", "conductor.api_db.schema")
CELL0 = Known("cell0", "cell0_database", "conductor.cell_db.schema")
DATABASES = (
    API,
    CELL0,
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
    found = [database for database in DATABASES if is_configured(conf, database)]
    if not found:
        groups = ", ".join(f"[{database.group}]" for database in DATABASES)
        raise exception.ConfigurationError(
            reason=f"no connection is set in any of {groups}; set one, or name a database: "
            f"{', '.join(NAMES)}"
        )
    return found


def open_api(conf: cfg.ConfigOpts) -> Database:
    """Return the API database, whose tables are those of this release.

    Raises ConfigurationError when it is not configured or has other tables, and
    DatabaseUnavailable.
    """
    if not is_configured(conf, API):
        raise exception.ConfigurationError(
            reason="[api_database] connection is not set; give the super conductor's configuration "
            "with --config-file"
        )
    database = API.open(conf)
    database.check_version(API.schema)
    return database


def is_configured(conf: cfg.ConfigOpts, database: Known) -> bool:
    """Tell whether a file or the environment sets the connection."""
    found = conf.get_location("connection", database.group)
    return found is not None and bool(found.location.is_user_controlled)
