"""Tests of what the API asks about flavors, over messages."""

import pytest

from armillary import exception
from armillary.context import RequestContext
from objects.instances.new_servers import NewServers
from tests import builders
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin


def test_a_flavor_comes_changes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, admin = running.api, an_admin()
    assert api.create_flavor(an_admin(), builders.a_flavor("tiny")).created_at is not None
    assert api.get_flavor(admin, "tiny").flavorid == "id-tiny"
    api.change_extra_specs(an_admin(), "id-tiny", {"a": "b", "c": "d"})
    changed = api.change_extra_specs(an_admin(), "id-tiny", {"c": None, "e": "f"})
    assert changed.extra_specs == {"a": "b", "e": "f"}
    assert [one.name for one in api.list_flavors(admin)] == ["tiny"]
    api.delete_flavor(an_admin(), "tiny")
    with pytest.raises(exception.FlavorNotFound):
        api.get_flavor(admin, "tiny")


def test_a_private_flavor_is_for_projects_that_were_given_it(running: RunningConductor) -> None:
    """Its access goes with it."""
    api, admin, user = running.api, an_admin(), a_user()
    project = str(user.project_id)
    for name, is_public in (("open", True), ("tiny", False)):
        api.create_flavor(an_admin(), builders.a_flavor(name, is_public=is_public))

    def seen(context: RequestContext, is_public: bool | None = True) -> list[str]:
        return [one.name for one in api.list_flavors(context, is_public=is_public)]

    assert (seen(user), seen(user, None), seen(user, False)) == (["open"], ["open"], [])
    assert (seen(admin), seen(admin, None), seen(admin, False)) == (
        ["open"], ["open", "tiny"], ["tiny"],
    )  # fmt: skip
    with pytest.raises(exception.FlavorNotFound):
        api.get_flavor(user, "tiny")
    with pytest.raises(exception.FlavorNotFound):
        api.create_servers(user, NewServers("web", "tiny"))
    assert api.add_flavor_access(an_admin(), "tiny", project) == [project]
    with pytest.raises(exception.FlavorAccessExists):
        api.add_flavor_access(an_admin(), "tiny", project)
    with pytest.raises(exception.FlavorIsPublic):
        api.add_flavor_access(an_admin(), "open", project)
    assert api.list_flavor_access(admin, "tiny") == [project]
    assert (seen(user), seen(user, False)) == (["open", "tiny"], ["tiny"])
    assert api.get_flavor(user, "tiny").flavorid == "id-tiny"
    assert api.remove_flavor_access(an_admin(), "tiny", project) == []
    with pytest.raises(exception.FlavorAccessNotFound):
        api.remove_flavor_access(an_admin(), "tiny", project)
    api.add_flavor_access(an_admin(), "tiny", project)
    api.delete_flavor(an_admin(), "tiny")
    api.create_flavor(an_admin(), builders.a_flavor("tiny", is_public=False))
    assert api.list_flavor_access(admin, "tiny") == []
    for name in ("open", "tiny"):
        api.delete_flavor(an_admin(), name)


def test_a_flavor_is_described(running: RunningConductor) -> None:
    """Its description can be changed."""
    api, admin = running.api, an_admin()
    api.create_flavor(an_admin(), builders.a_flavor("tiny"))
    assert api.set_flavor_description(an_admin(), "tiny", "small").description == "small"
    assert api.get_flavor(admin, "tiny").description == "small"
    api.delete_flavor(an_admin(), "tiny")
