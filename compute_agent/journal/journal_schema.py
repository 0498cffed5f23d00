"""Schema of the journal, and the upgrade of older files."""

import sqlite3

_TABLES = (
    """
CREATE TABLE instances (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('building', 'running', 'deleting', 'ended', 'arriving', 'leaving')),
    is_claimed INTEGER NOT NULL DEFAULT 0,
    is_dirty INTEGER NOT NULL DEFAULT 0,
    is_silent INTEGER NOT NULL DEFAULT 0,
    exit_code INTEGER,
    vcpus INTEGER NOT NULL DEFAULT 0,
    memory_mb INTEGER NOT NULL DEFAULT 0,
    disk_gb INTEGER NOT NULL DEFAULT 0,
    project_id TEXT,
    os_type TEXT,
    group_uuid TEXT,
    request_id TEXT,
    instance TEXT,
    request_spec TEXT,
    flavor_id TEXT,
    image_pairs TEXT,
    place_wanted TEXT,
    place TEXT,
    former_place TEXT,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE commands (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0,
    is_aborted INTEGER NOT NULL DEFAULT 0,
    result TEXT,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    request_id TEXT,
    result TEXT NOT NULL,
    UNIQUE (host, uuid, attempt, kind)
) STRICT
""",
    "CREATE INDEX outbox_uuid ON outbox (uuid)",
    """
CREATE TABLE fences (
    uuid TEXT PRIMARY KEY,
    seen INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    touched_at REAL NOT NULL
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE hosts (
    host TEXT PRIMARY KEY,
    failed_builds INTEGER NOT NULL
) STRICT, WITHOUT ROWID
""",
)

STEPS: tuple[tuple[str, ...], ...] = (_TABLES,)
"""Statements of each version. A released version never changes; a later one only adds."""


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of a file, 0 if it is new."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring a file to the newest version. Raises sqlite3.Error.

    The statements of a version are committed together with its number, so that an agent that is
    killed in between repeats them at its next start.
    """
    present = version_of(connection)
    for number, statements in enumerate(STEPS[present:], present + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
