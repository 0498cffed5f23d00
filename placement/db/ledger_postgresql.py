"""Reads and writes of the ledger's rows on PostgreSQL, two messages per claim plus the COMMIT.

Statements are prepared once per connection, since planning takes the server ten times as long as
running them for one claim. Each message has several statements. Each of those sees what was
committed before it began, so reads after the lock see what the previous writer committed.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.orm import Session

from placement.db.ledger_rows import Changes, Found

_IS_PREPARED = "armillary_ledger_is_prepared"

# Plans may be made while tables are still empty, and are kept: they must use the indexes. Without
# OFFSET 0, a planner that knows no rows yet would start with the whole table.
_PLANNING = "SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL enable_seqscan = off; "

_PREPARE = """
PREPARE armillary_lock AS
    SELECT epoch FROM placement_epoch WHERE id = 1 FOR UPDATE;

PREPARE armillary_read (varchar[], varchar[], varchar[]) AS SELECT
    (SELECT epoch FROM placement_epoch WHERE id = 1),
    (SELECT json_agg(json_build_array(
        consumer_uuid, fence, cell_uuid, other_cell_uuid, project_id, user_id))
     FROM consumer_fences WHERE consumer_uuid = ANY($1))::text,
    (SELECT json_agg(json_build_array(
        c.uuid, c.generation, c.consumer_type, c.project_id, c.user_id,
        c.group_uuid, c.group_place, p.uuid, k.name, a.amount))
     FROM unnest($1) AS asked (uuid)
     CROSS JOIN LATERAL (SELECT * FROM consumers WHERE uuid = asked.uuid OFFSET 0) c
     CROSS JOIN LATERAL (
        SELECT * FROM allocations WHERE consumer_uuid = asked.uuid OFFSET 0) a
     JOIN resource_providers p ON p.id = a.resource_provider_id
     JOIN resource_classes k ON k.id = a.resource_class_id)::text,
    (SELECT json_agg(json_build_array(c.uuid, c.group_uuid, c.group_place))
     FROM (
        SELECT unnest($3) AS uuid
        UNION SELECT group_uuid FROM consumers WHERE uuid = ANY($1) AND group_uuid IS NOT NULL
     ) g
     CROSS JOIN LATERAL (
        SELECT uuid, group_uuid, group_place FROM consumers
        WHERE group_uuid = g.uuid OFFSET 0) c)::text,
    (SELECT json_agg(json_build_array(
        p.uuid, p.id, p.name, p.generation, p.cell_uuid, k.name, k.id, coalesce(u.used, 0),
        i.total, i.reserved, i.min_unit, i.max_unit, i.step_size, i.allocation_ratio))
     FROM resource_providers p
     LEFT JOIN inventories i ON i.resource_provider_id = p.id
     LEFT JOIN resource_classes k ON k.id = i.resource_class_id
     LEFT JOIN usages u ON u.resource_provider_id = i.resource_provider_id
        AND u.resource_class_id = i.resource_class_id
     WHERE p.id IN (
        SELECT id FROM resource_providers WHERE uuid = ANY($2)
        UNION SELECT resource_provider_id FROM allocations WHERE consumer_uuid = ANY($1)))::text;

PREPARE armillary_empty (varchar[]) AS
    DELETE FROM allocations WHERE consumer_uuid = ANY($1);

PREPARE armillary_drop (varchar[]) AS
    DELETE FROM consumers WHERE uuid = ANY($1);

PREPARE armillary_consumers
    (varchar[], bigint[], varchar[], varchar[], varchar[], timestamp[], varchar[], varchar[]) AS
    INSERT INTO consumers
        (uuid, generation, consumer_type, project_id, user_id, updated_at, group_uuid, group_place)
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (uuid) DO UPDATE SET
        generation = excluded.generation, consumer_type = excluded.consumer_type,
        project_id = excluded.project_id, user_id = excluded.user_id,
        updated_at = excluded.updated_at,
        group_uuid = excluded.group_uuid, group_place = excluded.group_place;

PREPARE armillary_allocations (varchar[], bigint[], bigint[], bigint[]) AS
    INSERT INTO allocations
        (consumer_uuid, resource_provider_id, resource_class_id, amount)
    SELECT * FROM unnest($1, $2, $3, $4);

PREPARE armillary_usages (bigint[], bigint[], bigint[], bigint[]) AS
    INSERT INTO usages (resource_provider_id, resource_class_id, used, epoch)
    SELECT * FROM unnest($1, $2, $3, $4)
    ON CONFLICT (resource_provider_id, resource_class_id) DO UPDATE SET
        used = excluded.used, epoch = excluded.epoch;

PREPARE armillary_publish_usage (bigint) AS
    UPDATE placement_epoch SET epoch = $1 WHERE id = 1;

PREPARE armillary_rise (bigint[], bigint[], timestamp) AS
    UPDATE resource_providers SET generation = generation + r.steps, updated_at = $3
    FROM unnest($1, $2) AS r (id, steps) WHERE resource_providers.id = r.id;

PREPARE armillary_fences
    (varchar[], bigint[], timestamp[], varchar[], varchar[], varchar[], varchar[]) AS
    INSERT INTO consumer_fences
        (consumer_uuid, fence, updated_at, cell_uuid, other_cell_uuid, project_id, user_id)
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7)
    ON CONFLICT (consumer_uuid) DO UPDATE SET
        fence = excluded.fence, updated_at = excluded.updated_at,
        cell_uuid = excluded.cell_uuid, other_cell_uuid = excluded.other_cell_uuid,
        project_id = excluded.project_id, user_id = excluded.user_id;
"""
_LOCK_AND_READ = (
    f"{_PLANNING} EXECUTE armillary_lock; "
    "EXECUTE armillary_read (%s::varchar[], %s::varchar[], %s::varchar[])"
)
_CONSUMER = (
    *("uuid", "generation", "consumer_type", "project_id", "user_id", "updated_at"),
    *("group_uuid", "group_place"),
)
_ALLOCATION = ("consumer_uuid", "resource_provider_id", "resource_class_id", "amount")
_USAGE = ("resource_provider_id", "resource_class_id", "used", "epoch")
_FENCE = (
    *("consumer_uuid", "fence", "updated_at", "cell_uuid", "other_cell_uuid"),
    *("project_id", "user_id"),
)


def lock_and_read(
    session: Session,
    consumers: Collection[str],
    providers: Collection[str],
    groups: Collection[str],
) -> Found:
    """Take the epoch's lock, then read consumers, providers and groups, and those of consumers."""
    connection = _prepared(session)
    parameters = (list(consumers), list(providers), list(groups))
    row = connection.exec_driver_sql(_LOCK_AND_READ, parameters).one()
    fences, held, groups, accounts = (json.loads(text) if text else () for text in row[1:])
    return Found(row[0] + 1, fences, held, groups, accounts)


def write(session: Session, changes: Changes) -> None:
    """Write the changes; requires the epoch's lock."""
    calls = list(_calls(changes))
    if not calls:
        return
    message = "; ".join(
        f"EXECUTE armillary_{name} ({', '.join(['%s'] * len(values))})" for name, values in calls
    )
    parameters = tuple(value for _, values in calls for value in values)
    _prepared(session).exec_driver_sql(message, parameters)


def _calls(changes: Changes) -> Iterator[tuple[str, Sequence[Any]]]:
    """Yield the prepared statements to execute, in order, with their values."""
    if changes.emptied:
        yield "empty", [changes.emptied]
    if changes.gone:
        yield "drop", [changes.gone]
    if changes.consumers:
        yield "consumers", _arrays(_CONSUMER, changes.consumers)
    if changes.allocations:
        yield "allocations", _arrays(_ALLOCATION, changes.allocations)
    if changes.usages:
        yield "usages", _arrays(_USAGE, changes.usages)
        yield "publish_usage", [changes.epoch]
    if changes.steps:
        yield "rise", [list(changes.steps), list(changes.steps.values()), changes.now]
    if changes.fences:
        yield "fences", _arrays(_FENCE, changes.fences)


def _arrays(names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    return [[row[name] for row in rows] for name in names]


def _prepared(session: Session) -> Connection:
    """Return the session's connection with its statements prepared, as long as it lives."""
    connection = session.connection()
    if _IS_PREPARED not in connection.info:
        try:
            connection.exec_driver_sql(_PREPARE)
        except Exception:
            connection.invalidate()  # some of them may exist
            raise
        connection.info[_IS_PREPARED] = True
    return connection
