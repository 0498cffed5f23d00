"""Tests of what the API asks about server groups, over messages."""

import pytest

from armillary import exception
from tests.fixtures.control_plane import RunningConductor, a_user


def test_a_group_comes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, user = running.api, a_user()
    made = api.create_server_group(user, "g", "anti-affinity", {"max_server_per_host": "2"})
    assert api.get_server_group(user, made.uuid).max_server_per_host == 2
    assert [one.uuid for one in api.list_server_groups(user)] == [made.uuid]
    api.delete_server_group(user, made.uuid)
    with pytest.raises(exception.ServerGroupNotFound):
        api.get_server_group(user, made.uuid)
