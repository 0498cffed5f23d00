"""Databases that an operator program can reach with its configuration."""

import dataclasses
from collections.abc import Sequence

from oslo_config import cfg

from armillary import exception
from armillary.db import Database


@dataclasses.dataclass(frozen=True)
class Known:
    """A database: its name for operators, its option group, and its migrations."""

    name: str
    group: str
    schema: str

    def open(self, conf: cfg.ConfigOpts) -> Database:
        """Return the database; it connects on first use."""
        return Database.from_conf(conf[self.group], self.name)


API = Known("api", "api_database", "conductor.super_conductor.db.schema")
CELL0 = Known("cell0", "cell0_database", "conductor.common.cell_db.schema")
DATABASES = (
    API,
    CELL0,
    Known("cell", "cell_database", "conductor.common.cell_db.schema"),
    Known("placement", "placement_database", "placement.db.schema"),
)

NAMES = tuple(database.name for database in DATABASES)


def chosen(conf: cfg.ConfigOpts, names: Sequence[str]) -> list[Known]:
    """Return the named databases, or those with a connection in the configuration files.

    Raises ConfigurationError if there is none.
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
    """Return the API database, after checking the version of its tables.

    Raises ConfigurationError if it is not configured or has another version, and
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
    """Return whether a file or the environment sets the connection."""
    found = conf.get_location("connection", database.group)
    return found is not None and bool(found.location.is_user_controlled)
