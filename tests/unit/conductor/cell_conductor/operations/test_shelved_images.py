"""A shelved server's disk is an image while no host has it."""

import pytest

from conductor.cell_conductor.operations import shelved_images
from tests.fixtures.cell.operation_stories import STORIES, Stage


@pytest.mark.parametrize(
    ("payload", "is_needed"),
    [
        (None, False),
        ({"driver": "process", "files": []}, False),
        ({"needs_source": True}, True),
        ({"needs_source": True, "shelved_image": {}}, False),
    ],
    ids=["none", "complete", "files", "stored"],
)
def test_an_image_is_needed_for_what_only_the_host_has(
    payload: dict[str, object] | None, is_needed: bool
) -> None:
    assert shelved_images.is_needed(payload) is is_needed


@pytest.mark.parametrize("name", ["shelve", "shelve-files", "offload-no-image"])
def test_the_disk_of_a_shelved_server_is_an_image(stage: Stage, name: str) -> None:
    """Stored when it is shelved; if that failed, before its guest is dropped."""
    cell = stage.play(STORIES[name])
    (image_id,) = cell.top.shelved_images
    assert cell.top.ended_images == {image_id: 7}
    verbs = [verb for verb, _host in cell.steps if verb in ("snapshot", "drop", "detach")]
    assert verbs == (["snapshot", "drop"] if name == "offload-no-image" else ["detach", "snapshot"])


@pytest.mark.parametrize("name", ["unshelve-here", "unshelve", "unshelve-files"])
def test_the_image_goes_once_the_server_runs_again(stage: Stage, name: str) -> None:
    cell = stage.play(STORIES[name])
    assert list(cell.top.ended_images.values()) == [None]


def test_a_server_without_its_image_is_shelved_all_the_same(stage: Stage) -> None:
    """Its host has the disk."""
    cell = stage.play(STORIES["shelve-no-image"])
    assert cell.top.shelved_images == {}


def test_an_image_that_its_user_deleted_is_made_again(stage: Stage) -> None:
    """Before the host drops the disk, which would be lost."""
    cell = stage.set(STORIES["shelve-files"])
    cell.operate(cell.uuid, "shelve")
    cell.settle()
    cell.top.deleted_images = set(cell.top.shelved_images)
    cell.operate(cell.uuid, "shelve_offload")
    cell.settle()
    assert [verb for verb, _host in cell.steps][-2:] == ["snapshot", "drop"]
    assert set(cell.top.shelved_images) > cell.top.deleted_images
    cell.top.deleted_images = set()


def test_what_cannot_be_stored_stays_on_its_host(stage: Stage) -> None:
    """It is not tried again and again; its user may ask again."""
    cell = stage.play(STORIES["offload-no-image-fails"])
    assert ("drop", "a") not in cell.steps
    assert cell.bodies == {(cell.uuid, "a"): "shutdown"}
    cell.conf.set_override("shelved_offload_time", 0)
    assert cell.timed.run() == 0
    cell.conf.clear_override("shelved_offload_time")
    cell.failing_steps = set()
    cell.operate(cell.uuid, "shelve_offload")
    cell.settle()
    assert (cell.row(cell.uuid).vm_state, cell.bodies) == ("shelved_offloaded", {})


def test_an_image_that_cannot_be_made_leaves_the_server_shelved(stage: Stage) -> None:
    cell = stage.set(STORIES["offload-no-image"])
    cell.top.refuses_images = True
    cell.operate(cell.uuid, "shelve_offload")
    cell.settle()
    cell.top.refuses_images = False
    row = cell.row(cell.uuid)
    assert (row.vm_state, row.task_state, row.host) == ("shelved", None, "a")


def test_a_deleted_servers_image_goes_with_it(stage: Stage) -> None:
    cell = stage.play(STORIES["offload-no-image"])
    assert len(cell.top.shelved_images) == 1
    cell.ask_delete(cell.uuid)
    cell.settle()
    assert cell.top.shelved_images == {}
