"""Check, and if configured the making, of the placement database's tables when a service starts."""

from oslo_config import cfg

from armillary.db import Database

SCHEMA = "placement.db.schema"


def prepare(conf: cfg.ConfigOpts, database: Database) -> None:
    """Migrate the tables with ``[placement_database] sync_on_startup``, and check their version.

    Raises ConfigurationError if it is not the version of this release, and DatabaseUnavailable.
    """
    if conf.placement_database.sync_on_startup:
        database.sync(SCHEMA)
    database.check_version(SCHEMA)
