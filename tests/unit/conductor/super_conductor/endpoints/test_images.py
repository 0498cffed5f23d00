"""Tests of what the API asks about images, over messages."""

from __future__ import annotations

import pytest

from armillary import exception
from tests import builders
from tests.fixtures.control_plane import RunningConductor, an_admin


def test_an_image_comes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, admin = running.api, an_admin()
    made = api.create_image(admin, builders.an_image("loop"))
    assert api.get_image(admin, "loop").id == made.id
    assert [one.id for one in api.list_images(admin)] == [made.id]
    api.delete_image(admin, made.id)
    with pytest.raises(exception.ImageNotFound):
        api.get_image(admin, made.id)
