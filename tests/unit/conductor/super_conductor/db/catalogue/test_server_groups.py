"""Tests of storing server groups and their members."""

from collections.abc import Iterator

import pytest
from sqlalchemy.orm import Session

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db.catalogue import server_groups
from objects.instances.instance_group import InstanceGroup
from tests import builders
from tests.fixtures.control_plane import NOW


@pytest.fixture
def session(api_database: Database) -> Iterator[Session]:
    with api_database.writer() as session:
        yield session


def create(session: Session, name: str = "g", project_id: str = "p1") -> InstanceGroup:
    return server_groups.create_group(
        session, group_uuid=builders.a_uuid(), name=name, project_id=project_id, user_id="u1",
        policy="affinity", rules={}, now=NOW,
    )  # fmt: skip


def test_a_group_is_shown_with_its_members(session: Session) -> None:
    """In order."""
    group = create(session).uuid
    members = sorted(builders.a_uuid() for _ in range(3))
    server_groups.add_members(session, group, members)
    assert server_groups.get_group(session, group, "p1").members == members


def test_a_group_of_another_project_is_unknown(session: Session) -> None:
    """For None all projects are one's own."""
    group = create(session).uuid
    with pytest.raises(exception.ServerGroupNotFound):
        server_groups.get_group(session, group, "p2")
    assert server_groups.get_group(session, group, None).uuid == group


def test_groups_are_listed_with_their_members(session: Session) -> None:
    """Of one project, or of all."""
    mine, theirs = create(session), create(session, project_id="p2")
    member = builders.a_uuid()
    server_groups.add_members(session, mine.uuid, [member])
    (found,) = server_groups.list_groups(session, "p1")
    assert (found.uuid, found.members) == (mine.uuid, [member])
    uuids = {one.uuid for one in server_groups.list_groups(session, None)}
    assert uuids == {mine.uuid, theirs.uuid}
    assert server_groups.count_groups(session, "p1") == 1


def test_a_deleted_instance_is_not_a_member(session: Session) -> None:
    """It counts for no policy."""
    group, member = create(session).uuid, builders.a_uuid()
    server_groups.add_members(session, group, [member])
    server_groups.remove_member(session, member)
    assert server_groups.list_members(session, group) == []


def test_a_group_goes_with_its_memberships(session: Session) -> None:
    """Its members stay as they are."""
    group = create(session).uuid
    server_groups.add_members(session, group, [builders.a_uuid()])
    server_groups.delete_group(session, group, "p1")
    assert server_groups.list_members(session, group) == []
    with pytest.raises(exception.ServerGroupNotFound):
        server_groups.delete_group(session, group, "p1")
