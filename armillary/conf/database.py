"""Options of the databases: [api_database], [cell_database], [cell0_database] and others."""

from oslo_config import cfg

# Group, default file of the embedded setup, description for the operator.
# fmt: off
DATABASES = (
    ("api_database", "api", "the API database; its owner is the super conductor"),
    ("cell_database", "cell", "a cell's database; its owner is the cell conductor"),
    (
        "cell0_database",
        "cell0",
        "cell0, for requests that found no host; its owner is the super conductor",
    ),
    ("placement_database", "placement", "the placement database; its owner is placement"),
)


def _options(file_name: str, description: str) -> list[cfg.Opt]:
    return [
        cfg.StrOpt(
            "connection", default=f"sqlite:///$state_path/{file_name}.sqlite", secret=True,
            help=f"""
URL of {description}. One of ``postgresql+psycopg2://user:password@host/name``,
``mysql+pymysql://user:password@host/name`` (MySQL, MariaDB) or ``sqlite:////path/to/file``, the
last on a single machine only. Create the database first, then its tables with ``armillary-manage db
sync``.
""",
        ),
        cfg.IntOpt(
            "max_pool_size", default=5, min=1,
            help="Number of connections that each worker process keeps open.",
        ),
        cfg.IntOpt(
            "max_overflow", default=50, min=0,
            help=(
                "Maximum number of connections that each worker process opens beyond "
                "max_pool_size under load."
            ),
        ),
        cfg.IntOpt(
            "pool_timeout", default=30, min=1,
            help="Seconds to wait for a free connection from the pool before the call fails.",
        ),
        cfg.IntOpt(
            "connection_recycle_time", default=3600, min=1,
            help="""
Seconds after which an idle connection is replaced; keep it below the server's and any proxy's idle
timeout.
""",
        ),
        cfg.IntOpt(
            "max_retries", default=10, min=0, max=100,
            help="""
Maximum number of retries of a transaction after a deadlock, a serialisation failure or a lost
connection, with growing pauses.
""",
        ),
        cfg.IntOpt(
            "sqlite_busy_timeout", default=60, min=1,
            help=(
                "Seconds that a writer waits for a transaction of another process on a SQLite file."
            ),
        ),
    ]


OPTIONS: dict[str, list[cfg.Opt]] = {
    group: _options(file_name, description) for group, file_name, description in DATABASES
}
OPTIONS["placement_database"].append(
    cfg.BoolOpt(
        "sync_on_startup", default=False,
        help="""
Whether placement migrates the tables when it starts, as ``armillary-manage db sync placement``
does; processes that start at the same time wait for each other. Leave it off where a release is
upgraded step by step.
""",
    )
)
