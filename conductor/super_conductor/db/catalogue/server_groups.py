"""Queries on server groups and their members."""

from collections.abc import Collection
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from armillary import exception
from conductor.super_conductor.db import models
from conductor.super_conductor.db.statements import delete
from objects.instances.instance_group import InstanceGroup


def create_group(
    session: Session,
    *,
    group_uuid: str,
    name: str,
    project_id: str,
    user_id: str,
    policy: str,
    rules: dict[str, str],
    now: datetime,
) -> InstanceGroup:
    """Store a group whose values are validated."""
    row = models.ServerGroup(
        uuid=group_uuid, name=name, project_id=project_id, user_id=user_id,
        policy=policy, rules=rules, created_at=now,
    )  # fmt: skip
    session.add(row)
    session.flush()
    return _to_object(row, [])


def get_group(session: Session, group: str, project_id: str | None) -> InstanceGroup:
    """Return a group of a project, or of any if None. Raises ServerGroupNotFound."""
    row = session.get(models.ServerGroup, group)
    if row is None or project_id not in (None, row.project_id):
        raise exception.ServerGroupNotFound(group=group)
    return _to_object(row, list_members(session, group))


def is_known(session: Session, group: str) -> bool:
    """Return whether a group belongs to this zone, and not to another zone's request."""
    return session.get(models.ServerGroup, group) is not None


def lock_group(session: Session, group: str) -> None:
    """Lock the group's members against concurrent counting until the transaction ends.

    Raises ServerGroupNotFound.
    """
    query = sa.select(models.ServerGroup.uuid).where(models.ServerGroup.uuid == group)
    if session.scalar(query.with_for_update()) is None:
        raise exception.ServerGroupNotFound(group=group)


def list_groups(session: Session, project_id: str | None) -> list[InstanceGroup]:
    """Return the groups of a project, or all if None, ordered by creation."""
    query = sa.select(models.ServerGroup).order_by(
        models.ServerGroup.created_at, models.ServerGroup.uuid
    )
    if project_id is not None:
        query = query.where(models.ServerGroup.project_id == project_id)
    rows = session.scalars(query).all()
    members: dict[str, list[str]] = {}
    for group_uuid, instance_uuid in session.execute(
        sa.select(models.ServerGroupMember.group_uuid, models.ServerGroupMember.instance_uuid)
        .where(models.ServerGroupMember.group_uuid.in_(query.with_only_columns(
            models.ServerGroup.uuid).order_by(None)))
        .order_by(models.ServerGroupMember.instance_uuid)
    ):  # fmt: skip
        members.setdefault(group_uuid, []).append(instance_uuid)
    return [_to_object(row, members.get(row.uuid, [])) for row in rows]


def delete_group(session: Session, group: str, project_id: str | None) -> None:
    """Delete a group; its members are unchanged. Raises ServerGroupNotFound."""
    get_group(session, group, project_id)
    delete(session, models.ServerGroup, models.ServerGroup.uuid == group)


def count_groups(session: Session, project_id: str) -> int:
    """Return how many groups a project has."""
    query = sa.select(sa.func.count()).where(models.ServerGroup.project_id == project_id)
    return session.scalars(query).one()


def list_members(session: Session, group: str) -> list[str]:
    """Return the UUIDs of the group's instances, ordered."""
    query = (
        sa.select(models.ServerGroupMember.instance_uuid)
        .where(models.ServerGroupMember.group_uuid == group)
        .order_by(models.ServerGroupMember.instance_uuid)
    )
    return list(session.scalars(query))


def add_members(session: Session, group: str, instance_uuids: Collection[str]) -> None:
    """Add instances to a group."""
    session.execute(
        sa.insert(models.ServerGroupMember),
        [{"group_uuid": group, "instance_uuid": uuid} for uuid in instance_uuids],
    )


def remove_member(session: Session, instance_uuid: str) -> None:
    """Remove a deleted instance from its group, if it has one."""
    delete(
        session, models.ServerGroupMember, models.ServerGroupMember.instance_uuid == instance_uuid
    )


def _to_object(row: models.ServerGroup, members: list[str]) -> InstanceGroup:
    return InstanceGroup.from_values(
        uuid=row.uuid, name=row.name, project_id=row.project_id, user_id=row.user_id,
        policy=row.policy, rules=row.rules, members=members, created_at=row.created_at,
    )  # fmt: skip
