"""Schema of the journal, and the upgrades of older files.

An upgrade step and its version number (``user_version``) are committed together, so an agent that
is killed during a step repeats it at the next start. Steps only add: files of any older release are
upgraded without loss.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from typing import cast

from compute_agent.host.instance_summaries import image_pairs
from objects.base import ArmillaryObject
from objects.instance import Instance

_FIRST_TABLES = (
    """
CREATE TABLE IF NOT EXISTS instances (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('building', 'running', 'deleting', 'ended')),
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
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS outbox (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    request_id TEXT,
    payload TEXT NOT NULL,
    UNIQUE (host, uuid, attempt, kind)
) STRICT
""",
    "CREATE INDEX IF NOT EXISTS outbox_uuid ON outbox (uuid)",
    """
CREATE TABLE IF NOT EXISTS fences (
    uuid TEXT PRIMARY KEY,
    seen INTEGER NOT NULL,
    closed INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    touched_at REAL NOT NULL
) STRICT, WITHOUT ROWID
""",
    """
CREATE TABLE IF NOT EXISTS hosts (
    host TEXT PRIMARY KEY,
    failed_builds INTEGER NOT NULL
) STRICT, WITHOUT ROWID
""",
)
_FACTS_AND_PLACE = (
    "ALTER TABLE instances ADD COLUMN flavor_id TEXT",
    "ALTER TABLE instances ADD COLUMN image_pairs TEXT",
    "ALTER TABLE instances ADD COLUMN place_wanted TEXT",
    "ALTER TABLE instances ADD COLUMN place TEXT",
)


_COMMANDS = (
    # SQLite cannot change a CHECK constraint, so the table is recreated.
    """
CREATE TABLE instances_new (
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
INSERT INTO instances_new (host, uuid, attempt, state, is_claimed, is_dirty, is_silent, exit_code,
    vcpus, memory_mb, disk_gb, project_id, os_type, group_uuid, request_id, instance, request_spec,
    flavor_id, image_pairs, place_wanted, place)
SELECT host, uuid, attempt, state, is_claimed, is_dirty, is_silent, exit_code,
    vcpus, memory_mb, disk_gb, project_id, os_type, group_uuid, request_id, instance, request_spec,
    flavor_id, image_pairs, place_wanted, place FROM instances
""",
    "DROP TABLE instances",
    "ALTER TABLE instances_new RENAME TO instances",
    """
CREATE TABLE IF NOT EXISTS commands (
    host TEXT NOT NULL,
    uuid TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    body TEXT NOT NULL,
    is_done INTEGER NOT NULL DEFAULT 0,
    is_aborted INTEGER NOT NULL DEFAULT 0,
    answer TEXT,
    PRIMARY KEY (host, uuid)
) STRICT, WITHOUT ROWID
""",
)


def _first_tables(connection: sqlite3.Connection) -> None:
    for statement in _FIRST_TABLES:
        connection.execute(statement)


def _facts_and_place(connection: sqlite3.Connection) -> None:
    """Add columns for scheduler summaries and for the placement within the host."""
    for statement in _FACTS_AND_PLACE:
        connection.execute(statement)
    rows = connection.execute(
        "SELECT host, uuid, instance FROM instances WHERE instance IS NOT NULL"
    ).fetchall()
    for host, uuid, text in rows:
        instance = cast("Instance", ArmillaryObject.obj_from_primitive(json.loads(text)))
        connection.execute(
            "UPDATE instances SET flavor_id = ?, image_pairs = ? WHERE host = ? AND uuid = ?",
            (instance.flavor.flavorid, json.dumps(image_pairs(instance.image)), host, uuid),
        )


def _commands(connection: sqlite3.Connection) -> None:
    """Add operation commands, and the states of a moving instance."""
    for statement in _COMMANDS:
        connection.execute(statement)


_STEPS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    _first_tables,
    _facts_and_place,
    _commands,
)
SCHEMA_VERSION = len(_STEPS)


def version_of(connection: sqlite3.Connection) -> int:
    """Return the schema version of a file."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def upgrade(connection: sqlite3.Connection) -> None:
    """Apply missing upgrade steps. Raises sqlite3.Error, or errors from reading an instance."""
    for number in range(version_of(connection), SCHEMA_VERSION):
        connection.execute("BEGIN IMMEDIATE")
        try:
            _STEPS[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            connection.execute("ROLLBACK")
            raise
