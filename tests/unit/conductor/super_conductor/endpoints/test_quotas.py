"""Tests of what the API asks about quotas, over messages."""

from __future__ import annotations

import pytest

from armillary import exception
from conductor.super_conductor.accept.quotas import RESOURCES
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_a_project_has_the_configured_limits_until_it_gets_others(
    running: RunningConductor,
) -> None:
    """Beside what it uses."""
    api, admin = running.api, an_admin()
    assert api.get_quotas(admin, "p9")["server_groups"] == {"limit": 10, "in_use": 0}
    changed = api.update_quotas(admin, "p9", {"server_groups": 3})
    assert changed["server_groups"]["limit"] == 3
    assert set(changed) == set(RESOURCES)


def test_a_bad_limit_changes_nothing(running: RunningConductor) -> None:
    """Not even the good ones beside it."""
    with pytest.raises(exception.Invalid):
        running.api.update_quotas(an_admin(), "p8", {"cores": 1, "ram": -2})
    assert running.api.get_quotas(an_admin(), "p8")["cores"]["limit"] != 1
