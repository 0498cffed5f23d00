"""Tests of what the API asks about quotas, over messages."""

import pytest

from armillary import exception
from conductor.super_conductor.accept.quotas import OF_FILES, RESOURCES, UNCOUNTED
from objects.instances.new_servers import NewServers
from objects.key_pair import KeyPair
from tests import builders
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin


def test_a_project_has_the_configured_limits_until_it_gets_others(
    running: RunningConductor,
) -> None:
    """Beside what it uses."""
    api, admin = running.api, an_admin()
    assert api.get_quotas(admin, "p9")["server_groups"] == {"limit": 10, "in_use": 0}
    changed = api.update_quotas(admin, "p9", {"server_groups": 3})
    assert changed["server_groups"]["limit"] == 3
    assert set(changed) == {*RESOURCES, *UNCOUNTED, *OF_FILES}
    api.reset_quotas(admin, "p9")
    assert api.get_quotas(admin, "p9")["server_groups"]["limit"] == 10


def test_metadata_and_key_pairs_have_limits(running: RunningConductor) -> None:
    """Of the project, as everything that is counted."""
    api, user = running.api, a_user("p7")
    api.create_flavor(an_admin(), builders.a_flavor("plain"))
    api.update_quotas(an_admin(), "p7", {"metadata_items": 1, "key_pairs": 0})
    with pytest.raises(exception.QuotaExceeded):
        api.create_servers(user, NewServers("web", "plain", metadata={"a": "1", "b": "2"}))
    with pytest.raises(exception.QuotaExceeded):
        api.create_key_pair(user, KeyPair("u7", "key", "ssh-ed25519 AAAA", "00:11"))


def test_a_bad_limit_changes_nothing(running: RunningConductor) -> None:
    """Not even the good ones beside it."""
    with pytest.raises(exception.Invalid):
        running.api.update_quotas(an_admin(), "p8", {"cores": 1, "ram": -2})
    assert running.api.get_quotas(an_admin(), "p8")["cores"]["limit"] != 1
