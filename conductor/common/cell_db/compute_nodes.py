"""Queries on compute nodes and on their changes."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.orm import Session

from conductor.common import name_search
from conductor.common.cell_db import host_seq, models
from objects.hosts.compute_node import ComputeNode


class ChangedNode(NamedTuple):
    """The part of a host state that a compute node's row holds."""

    uuid: str
    host: str
    node: str
    attributes: dict[str, Any]
    seq: int


class Confirmation(NamedTuple):
    """What placement confirmed of a node: columns, for the node as it was at number ``seq``."""

    uuid: str
    seq: int
    columns: dict[str, Any]


def list_hosts(session: Session) -> list[str]:
    """Return the names of all hosts that have a node, sorted."""
    query = sa.select(models.ComputeNode.host).distinct().order_by(models.ComputeNode.host)
    return list(session.scalars(query))


def uuids_by_host(session: Session) -> dict[str, list[str]]:
    """Return host -> UUIDs of its nodes, sorted."""
    query = sa.select(models.ComputeNode.host, models.ComputeNode.uuid)
    found: dict[str, list[str]] = {}
    for host, uuid in session.execute(query.order_by(models.ComputeNode.uuid)):
        found.setdefault(host, []).append(uuid)
    return found


def list_all(session: Session, *, cell_uuid: str | None) -> list[ComputeNode]:
    """Return all nodes ordered by host and node, with ``num_instances`` counted here."""
    query = sa.select(models.ComputeNode).order_by(models.ComputeNode.host, models.ComputeNode.node)
    counts = _count_instances(session)
    found = [to_object(row, cell_uuid=cell_uuid) for row in session.scalars(query)]
    for node in found:
        node.attributes = {
            **node.attributes,
            "num_instances": counts.get((node.host, node.node), 0),
        }
        node.obj_reset_changes()
    return found


def _count_instances(session: Session) -> dict[tuple[str | None, str | None], int]:
    """Return (host, node) -> number of instances, for those that have any."""
    place = (models.Instance.host, models.Instance.node)
    query = (
        sa.select(*place, sa.func.count())
        .where(models.Instance.host.is_not(None), models.Instance.deleted_at.is_(None))
        .group_by(*place)
    )
    return {(host, node): count for host, node, count in session.execute(query)}


def find_known(
    session: Session, uuids: Collection[str], hosts: Collection[str]
) -> list[models.ComputeNode]:
    """Return the rows with one of these UUIDs or hosts; one statement."""
    return list(session.scalars(_KNOWN, {"uuids": [*uuids], "hosts": [*hosts]}))


def list_after(session: Session, after_uuid: str | None, *, limit: int) -> list[models.ComputeNode]:
    """Return the next rows by UUID after ``after_uuid``; from the first if None."""
    query = sa.select(models.ComputeNode).order_by(models.ComputeNode.uuid).limit(limit)
    if after_uuid is not None:
        query = query.where(models.ComputeNode.uuid > after_uuid)
    return list(session.scalars(query))


def list_on_hosts(session: Session, hosts: Collection[str]) -> list[models.ComputeNode]:
    query = sa.select(models.ComputeNode).where(models.ComputeNode.host.in_(hosts))
    return list(session.scalars(query))


def uuids_of_hosts(session: Session, hosts: Collection[str]) -> list[str]:
    query = sa.select(models.ComputeNode.uuid).where(models.ComputeNode.host.in_(hosts))
    return list(session.scalars(query))


def host_ips(
    session: Session, hosts: Collection[str]
) -> dict[tuple[str | None, str | None], str | None]:
    """Return (host, node) -> address of the host, for the nodes of these hosts."""
    if not hosts:
        return {}
    found = session.execute(_HOST_IPS, {"hosts": [*hosts]})
    return {(host, node): address for host, node, address in found}


def with_address(text: str, separator: str) -> sa.Select[str, str]:
    """Return the query for (host, node) of those whose host's address has a part or pattern.

    ``separator`` is that of the IP version.
    """
    node = models.ComputeNode
    address = node.attributes["host_ip"].as_string()
    return sa.select(node.host, node.node).where(
        address.contains(separator), name_search.matches(address, text)
    )


def add(session: Session, values: Sequence[Mapping[str, Any]]) -> None:
    """Insert nodes and delete the records of their earlier removal; two statements.

    Another transaction may insert them first: see ``Database.insert_in_writer``.
    """
    if not values:
        return
    session.execute(
        sa.delete(models.NodeRemoval).where(
            models.NodeRemoval.node_uuid.in_([value["uuid"] for value in values])
        )
    )
    session.execute(sa.insert(models.ComputeNode), list(values))


def update(session: Session, values: Sequence[Mapping[str, Any]]) -> None:
    """Update columns of nodes, each by its UUID; one prepared statement for all."""
    if values:
        session.execute(sa.update(models.ComputeNode), list(values))


def confirm(session: Session, confirmations: Sequence[Confirmation]) -> None:
    """Store what placement confirmed of the nodes that have not changed since."""
    if confirmations:
        session.execute(
            _CONFIRM,
            [
                {"node_uuid": each.uuid, "node_seq": each.seq, **each.columns}
                for each in confirmations
            ],
        )


def remove_of_host(session: Session, host: str, *, now: datetime) -> list[str]:
    """Delete a host's nodes and record their removal in the sequence; return their UUIDs."""
    return _remove(session, [row.uuid for row in list_on_hosts(session, [host])], now=now)


def remove_unconfirmed(session: Session, uuids: Collection[str], *, now: datetime) -> list[str]:
    """Delete those of these nodes that placement never confirmed, as ``remove_of_host`` does."""
    node = models.ComputeNode
    query = sa.select(node.uuid).where(node.uuid.in_(uuids), node.confirmed_at.is_(None))
    return _remove(session, list(session.scalars(query)), now=now)


def _remove(session: Session, uuids: list[str], *, now: datetime) -> list[str]:
    if not uuids:
        return []
    seq = host_seq.next_number(session)
    session.execute(sa.delete(models.ComputeNode).where(models.ComputeNode.uuid.in_(uuids)))
    session.execute(
        sa.insert(models.NodeRemoval),
        [{"node_uuid": uuid, "seq": seq, "removed_at": now} for uuid in uuids],
    )
    return uuids


def list_unconfirmed(session: Session, *, limit: int) -> list[models.ComputeNode]:
    """Return nodes whose current provider data placement has not confirmed."""
    return list(session.scalars(_UNCONFIRMED, {"limit": limit}))


def list_changed(session: Session, *, after_seq: int, up_to_seq: int) -> list[ChangedNode]:
    """Return the nodes whose latest change has a number in (after_seq, up_to_seq]."""
    bounds = {"after_seq": after_seq, "up_to_seq": up_to_seq}
    return [ChangedNode(*found) for found in session.execute(_CHANGED, bounds)]


def seq_of_nth_change(session: Session, *, after_seq: int, nth: int) -> int | None:
    """Return the number of the n-th changed row after a number; None if there are fewer."""
    return session.scalars(_NTH_CHANGE, {"after_seq": after_seq, "skipped": nth - 1}).first()


def list_removed(session: Session, *, after_seq: int, up_to_seq: int) -> list[str]:
    """Return the UUIDs of nodes removed after one number and up to another, sorted."""
    return list(session.scalars(_REMOVED, {"after_seq": after_seq, "up_to_seq": up_to_seq}))


# Frequent queries, built once: building costs more than executing. --------------------------------

_NODE, _REMOVAL = models.ComputeNode, models.NodeRemoval
_AFTER: sa.BindParameter[int] = sa.bindparam("after_seq")
_UP_TO: sa.BindParameter[int] = sa.bindparam("up_to_seq")
_KNOWN = sa.select(_NODE).where(
    _NODE.uuid.in_(sa.bindparam("uuids", expanding=True))
    | _NODE.host.in_(sa.bindparam("hosts", expanding=True))
)
_HOST_IPS = sa.select(_NODE.host, _NODE.node, _NODE.attributes["host_ip"].as_string()).where(
    _NODE.host.in_(sa.bindparam("hosts", expanding=True))
)
_TABLE: sa.Table = models.ComputeNode.__table__  # type: ignore[assignment]
_CONFIRM = sa.update(_TABLE).where(
    _TABLE.c.uuid == sa.bindparam("node_uuid"), _TABLE.c.seq == sa.bindparam("node_seq")
)
_UNCONFIRMED = (
    sa.select(_NODE)
    .where(_NODE.confirmed_digest.is_(None) | (_NODE.confirmed_digest != _NODE.provider_digest))
    .order_by(_NODE.uuid)
    .limit(sa.bindparam("limit"))
)
_CHANGED = (
    sa.select(_NODE.uuid, _NODE.host, _NODE.node, _NODE.attributes, _NODE.seq)
    .where(_NODE.seq > _AFTER, _NODE.seq <= _UP_TO)
    .order_by(_NODE.seq, _NODE.uuid)
)
_NTH_CHANGE = (
    sa.select(_NODE.seq)
    .where(_NODE.seq > _AFTER)
    .order_by(_NODE.seq)
    .offset(sa.bindparam("skipped"))
    .limit(1)
)
_REMOVED = (
    sa.select(_REMOVAL.node_uuid)
    .where(_REMOVAL.seq > _AFTER, _REMOVAL.seq <= _UP_TO)
    .order_by(_REMOVAL.node_uuid)
)


def to_object(row: models.ComputeNode, *, cell_uuid: str | None) -> ComputeNode:
    values = {name: getattr(row, name) for name in ComputeNode.fields if name != "cell_uuid"}
    values["child_providers"] = row.child_providers or []
    return ComputeNode.from_values(values, cell_uuid=cell_uuid)
