"""Tests of what the API asks about images, over messages."""

from __future__ import annotations

import pytest

from armillary import exception
from tests import builders
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin


def test_an_image_comes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, admin = running.api, an_admin()
    made = api.create_image(admin, builders.an_image("loop"))
    assert api.get_image(admin, "loop").id == made.id
    assert [one.id for one in api.list_images(admin)] == [made.id]
    api.delete_image(admin, made.id)
    with pytest.raises(exception.ImageNotFound):
        api.get_image(admin, made.id)


def test_only_its_owner_and_administrators_see_an_environment(running: RunningConductor) -> None:
    """It often contains passwords; all else of an image is for everyone."""
    api = running.api
    properties = {"process_command": "serve", "process_environment": '{"PASSWORD": "secret"}'}
    made = api.create_image(a_user("p1"), builders.an_image("web", properties=properties))
    for reader in (a_user("p1"), an_admin()):
        assert api.get_image(reader, made.id).properties == properties
        assert api.list_images(reader)[0].properties == properties
    other = a_user("p2")
    assert api.get_image(other, "web").properties == {"process_command": "serve"}
    assert api.list_images(other)[0].properties == {"process_command": "serve"}


def test_the_key_of_host_ids_is_made_once(running: RunningConductor) -> None:
    """All API processes get the same one, which no one can guess."""
    key = running.api.get_host_id_key(an_admin())
    assert len(key) == 64
    assert running.api.get_host_id_key(a_user("p1")) == key
