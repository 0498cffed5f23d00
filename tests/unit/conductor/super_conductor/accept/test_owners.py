"""Tests of whose a new thing is."""

import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.accept.owners import owner_of
from tests.fixtures.control_plane import a_user


def test_a_new_thing_belongs_to_who_asks() -> None:
    """To a project, and to a user in it."""
    assert owner_of(a_user("p7")) == ("p7", "u1")


@pytest.mark.parametrize("who", [{"user_id": "u1"}, {"project_id": "p1"}, {}])
def test_it_has_to_have_an_owner(who: dict[str, str]) -> None:
    """Half of an owner is none."""
    with pytest.raises(exception.Invalid):
        owner_of(RequestContext(**who))
