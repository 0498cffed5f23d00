"""Tests of what the API asks about servers, over messages; the work is tested elsewhere."""

import pytest

from armillary import exception
from objects.instances.new_servers import NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import ServerFilters
from objects.zones.zone_record import ZoneSettings
from tests import builders
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin


@pytest.fixture(scope="module")
def server(running: RunningConductor) -> str:
    """Return the UUID of an active server."""
    running.api.create_flavor(an_admin(), builders.a_flavor())
    answer = running.api.create_servers(a_user(), NewServers("web", "small"))
    (uuid,) = answer.instance_uuids
    wait_for(lambda: running.api.get_server(a_user(), uuid).host, "it is in its cell", 20)
    return uuid


def test_a_request_is_answered_with_its_reservation(running: RunningConductor, server: str) -> None:
    """And with the servers that there will be."""
    request = NewServers("many", "small", min_count=2)
    answer = running.api.create_servers(a_user(), request)
    made = [running.api.get_server(a_user(), uuid) for uuid in answer.instance_uuids]
    assert {one.reservation_id for one in made} == {answer.reservation_id}
    assert len(made) == 2


def test_a_repeated_message_is_answered_as_before(running: RunningConductor, server: str) -> None:
    """It makes nothing more, also when what it made is gone; another request does."""
    context, request = a_user(), NewServers("once", "small", min_count=2)
    answer = running.api.create_servers(context, request)
    assert running.api.create_servers(context, request) == answer
    assert running.api.create_servers(a_user(), request) != answer
    for uuid in answer.instance_uuids:
        running.api.delete_server(a_user(), uuid)
        wait_for(lambda: _is_gone(running, uuid), "it is deleted", 20)  # noqa: B023
    assert running.api.create_servers(context, request) == answer
    assert all(_is_gone(running, uuid) for uuid in answer.instance_uuids)


def _is_gone(running: RunningConductor, uuid: str) -> bool:
    try:
        running.api.get_server(a_user(), uuid)
    except exception.InstanceNotFound:
        return True
    return False


def test_a_repeated_change_is_answered_as_before(running: RunningConductor, server: str) -> None:
    """Late repeats do not undo what was done since, and what was refused stays refused."""
    create, delete = an_admin(), an_admin()
    flavor = builders.a_flavor("brief")
    made = running.api.create_flavor(create, flavor)
    assert running.api.create_flavor(create, flavor).flavorid == made.flavorid
    with pytest.raises(exception.FlavorExists):
        running.api.create_flavor(an_admin(), flavor)
    running.api.delete_flavor(delete, "brief")
    running.api.create_flavor(an_admin(), flavor)
    running.api.delete_flavor(delete, "brief")
    assert running.api.get_flavor(an_admin(), "brief").name == "brief"
    refused = a_user()
    for _time in range(2):
        with pytest.raises(exception.FlavorNotFound, match="nothing"):
            running.api.operate_server(
                refused, server, "resize", OperationArguments(flavor="nothing")
            )
        if _time == 0:
            running.api.create_flavor(an_admin(), builders.a_flavor("nothing"))


def test_a_late_repeat_of_a_soft_delete_leaves_a_restored_server_alone(
    running: RunningConductor, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cell refuses a request that has ended, as it refuses what cannot be kept."""
    delete = a_user()
    running.conf.set_override("reclaim_instance_interval", 60)
    try:
        running.api.delete_server(delete, server)
        assert running.cell.begun[-1] == (server, "soft_delete", {})
        ended = exception.InstanceInvalidState(
            instance_uuid=server, operation="soft-delete", reason="the request has ended"
        )
        monkeypatch.setattr(running.cell, "refusal", ended)
        running.api.delete_server(delete, server)
    finally:
        running.conf.clear_override("reclaim_instance_interval")
    assert running.api.get_server(a_user(), server).uuid == server


def test_late_repeats_of_what_undoes_leave_alone_what_was_done_since(
    running: RunningConductor,
) -> None:
    """Limits of a project, a zone, an aggregate: each was made once more by the same name."""
    reset, delete, remove = an_admin(), an_admin(), an_admin()
    zone = ZoneSettings("rabbit://world:secret@127.0.0.1:1/top")
    for cores in (5, 7):
        running.api.update_quotas(an_admin(), "p9", {"cores": cores})
        running.api.create_zone(an_admin(), "asia", zone, verify=False)
        if cores == 5:
            made = running.api.create_aggregate(an_admin(), "rack", None)
        for _time in range(2):
            running.api.delete_aggregate(remove, made.uuid)
        running.api.reset_quotas(reset, "p9")
        running.api.delete_zone(delete, "asia", force=False)
    assert running.api.get_quotas(an_admin(), "p9")["cores"]["limit"] == 7
    assert running.api.get_zone(an_admin(), "asia").name == "asia"


def test_servers_are_listed_and_shown(running: RunningConductor, server: str) -> None:
    """By the same UUID."""
    page = running.api.list_servers(a_user(), filters=ServerFilters(status="ACTIVE"), limit=10)
    assert server in [one.uuid for one in page.instances]
    assert running.api.get_server(a_user(), server).uuid == server


def test_actions_and_explanation_can_be_asked_for(running: RunningConductor, server: str) -> None:
    """The cell has none of them here."""
    assert running.api.list_server_actions(a_user(), server) == []
    explained = running.api.explain_server(an_admin(), server)
    assert explained.instance.uuid == server
    assert [each.operation for each in explained.decisions] == ["create"]
    with pytest.raises(exception.DecisionNotFound):
        running.api.explain_server(an_admin(), server, decision_of="req-typo")


def test_a_user_cannot_delete_an_invisible_server(running: RunningConductor, server: str) -> None:
    """Neither an unknown server nor that of another project."""
    for uuid, who in ((builders.a_uuid(), a_user()), (server, a_user("p2"))):
        with pytest.raises(exception.InstanceNotFound):
            running.api.delete_server(who, uuid)


def test_a_server_is_deleted(running: RunningConductor, server: str) -> None:
    """It is unknown then."""
    running.api.delete_server(a_user(), server)
    with pytest.raises(exception.InstanceNotFound):
        running.api.get_server(a_user(), server)
