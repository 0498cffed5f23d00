"""Tests of what the API asks about images, over messages."""

from dataclasses import replace

import pytest

from armillary import exception
from armillary.context import RequestContext
from conductor.super_conductor.db.catalogue import images
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_record import ImageRecord
from tests import builders
from tests.fixtures.control_plane import RunningConductor, a_user, an_admin


def nameable(api: SuperConductorAPI, context: RequestContext) -> list[str]:
    return [record.image.id for record in api.list_images(context, nameable_only=True)]


def test_an_image_comes_and_goes(running: RunningConductor) -> None:
    """Each call is answered with what is stored."""
    api, admin = running.api, an_admin()
    made = api.create_image(admin, ImageRecord(builders.an_image("loop")))
    assert api.get_image(admin, "loop").image.id == made.image.id
    assert [one.image.id for one in api.list_images(admin)] == [made.image.id]
    api.delete_image(admin, made.image.id)
    with pytest.raises(exception.ImageNotFound):
        api.get_image(admin, made.image.id)


def test_only_its_owner_and_administrators_see_an_environment(running: RunningConductor) -> None:
    """It often contains passwords; all else of an image is for everyone."""
    api = running.api
    properties = {"process_command": "serve", "process_environment": '{"PASSWORD": "secret"}'}
    image = builders.an_image("web", properties=properties)
    api.create_image(a_user("p1"), ImageRecord(image, owner="p1"))
    for reader in (a_user("p1"), an_admin()):
        assert api.get_image(reader, image.id).image.properties == properties
        assert api.list_images(reader)[0].image.properties == properties
    other = a_user("p2")
    assert api.get_image(other, "web").image.properties == {"process_command": "serve"}
    assert api.list_images(other)[0].image.properties == {"process_command": "serve"}


def test_the_key_of_host_ids_is_made_once(running: RunningConductor) -> None:
    """All API processes get the same one, which cannot be guessed."""
    key = running.api.get_host_id_key(an_admin())
    assert len(key) == 64
    assert running.api.get_host_id_key(a_user("p1")) == key


def test_a_record_is_written_by_the_generation_that_was_read(running: RunningConductor) -> None:
    """The second of two concurrent changes is refused, and everything comes back over messages."""
    api, user = running.api, a_user("limited")
    record = ImageRecord(
        builders.an_image("disk"),
        owner="limited",
        visibility="private",
        tags=["a"],
        sha512="0" * 128,
    )
    made = api.create_image(user, record, of_owner_max=1)
    assert (made.tags, made.visibility, made.sha512) == (["a"], "private", "0" * 128)
    with pytest.raises(exception.QuotaExceeded):
        api.create_image(
            user, ImageRecord(builders.an_image("more"), owner="limited"), of_owner_max=1
        )
    assert api.update_image(user, replace(made, is_protected=True)).generation == 1
    with pytest.raises(exception.ImageChanged):
        api.update_image(user, replace(made, tags=[]))
    with pytest.raises(exception.ImageProtected):
        api.delete_image(user, made.image.id)


def test_what_a_projects_images_say_is_bounded_together(
    running: RunningConductor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each list has it all: a member could make the services take gigabytes by a few requests."""
    monkeypatch.setattr(images, "OF_OWNER_CHARACTERS_MAX", 4000)
    api, user = running.api, a_user("wordy")

    def record(name: str, size: int, owner: str = "wordy") -> ImageRecord:
        return ImageRecord(builders.an_image(name, properties={"os": "x" * size}), owner=owner)

    first = api.create_image(user, record("first", 2000), of_owner_max=10)
    with pytest.raises(exception.QuotaExceeded, match="characters of properties"):
        api.create_image(user, record("second", 2000), of_owner_max=10)
    for change in (
        {"image": first.image.with_values(properties={"os": "x" * 5000})},
        {"tags": ["x" * 4000]},
        {"members": {"x" * 4000: "pending"}},
    ):
        with pytest.raises(exception.QuotaExceeded):
            api.update_image(user, replace(first, **change))
    api.create_image(user, record("third", 2000, owner="other"), of_owner_max=10)
    shorter = first.image.with_values(properties={"os": "x"})
    assert api.update_image(user, replace(first, image=shorter)).generation == 1
    api.create_image(user, record("second", 2000), of_owner_max=10)


def test_a_private_image_is_its_projects(running: RunningConductor) -> None:
    """Others cannot see it, nor build from it; a shared one is for its members."""
    api = running.api
    image = builders.an_image("disk")
    record = ImageRecord(image, owner="stars", visibility="shared", members={"moons": "pending"})
    made = api.create_image(a_user("stars"), record)
    assert image.id in nameable(api, a_user("stars"))
    assert image.id not in nameable(api, a_user("moons"))
    assert api.get_image(a_user("moons"), image.id).members == {"moons": "pending"}
    answered = api.answer_image_sharing(a_user("moons"), image.id, "moons", "accepted")
    assert answered.members == {"moons": "accepted"}
    assert image.id in nameable(api, a_user("moons"))
    private = replace(made, visibility="private", generation=answered.generation)
    api.update_image(a_user("stars"), private)
    with pytest.raises(exception.ImageNotFound):
        api.get_image(a_user("moons"), image.id)
    with pytest.raises(exception.ImageNotFound):
        api.answer_image_sharing(a_user("moons"), image.id, "moons", "accepted")


@pytest.mark.parametrize("visibility", ["community", "shared"])
def test_no_project_puts_its_image_into_the_list_of_another(
    running: RunningConductor, visibility: str
) -> None:
    """It can be used by its id, which is all that its project can tell others."""
    api = running.api
    image = builders.an_image("ubuntu")
    record = ImageRecord(image, owner="thief", visibility=visibility, members={"stars": "pending"})
    api.create_image(a_user("thief"), record)
    assert image.id not in nameable(api, a_user("stars"))
    assert api.get_image(a_user("stars"), image.id).image.id == image.id
    assert image.id in nameable(api, an_admin())
