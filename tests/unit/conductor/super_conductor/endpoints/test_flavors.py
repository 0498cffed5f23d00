"""Tests of what the API asks about flavors, over messages."""

from __future__ import annotations

import pytest

from armillary import exception
from tests import builders
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_a_flavor_comes_changes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, admin = running.api, an_admin()
    assert api.create_flavor(admin, builders.a_flavor("tiny")).created_at is not None
    assert api.get_flavor(admin, "tiny").flavorid == "id-tiny"
    changed = api.set_extra_specs(admin, "id-tiny", {"a": "b"})
    assert changed.extra_specs == {"a": "b"}
    assert [one.name for one in api.list_flavors(admin)] == ["tiny"]
    api.delete_flavor(admin, "tiny")
    with pytest.raises(exception.FlavorNotFound):
        api.get_flavor(admin, "tiny")
