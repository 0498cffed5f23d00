"""Images on the command line."""

import json

import pytest

from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor


def test_an_image_of_a_program_goes_to_hosts_that_run_programs(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Command and environment become the properties that the process driver reads."""
    made = armillary(
        "image", "create", "clock", "--command", "sh -c 'date; sleep 1'", "--env", "TZ=UTC",
        "--env", "LANG=C", "--property", "os_type=linux", "--min-ram", "64", "--min-disk", "1",
        "-f", "json",
    ).json  # fmt: skip
    (image,) = conductor.images
    assert image.id == made["id"]
    assert json.loads(image.properties.pop("process_environment")) == {"TZ": "UTC", "LANG": "C"}
    assert image.properties == {
        "process_command": "sh -c 'date; sleep 1'",
        "img_hv_type": "process",
        "os_type": "linux",
    }
    assert (image.min_ram_mb, image.min_disk_gb) == (64, 1)


def test_the_kind_of_host_can_be_said(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Another driver may run programs, too."""
    uuid = builders.a_uuid()
    armillary(
        "image", "create", "x", "--id", uuid, "--command", "true", "--property", "img_hv_type=lxc"
    )
    assert conductor.images[0].id == uuid
    assert conductor.images[0].properties["img_hv_type"] == "lxc"


def test_without_a_command_nothing_is_added(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """An image is what one says it is."""
    armillary("image", "create", "x", "--property", "img_hv_type=simulated")
    assert conductor.images[0].properties == {"img_hv_type": "simulated"}


@pytest.mark.parametrize("restart", ["never", "on-failure", "always"])
def test_a_program_may_be_started_again(
    restart: str, armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The process driver reads when."""
    armillary("image", "create", "x", "--command", "true", "--restart", restart)
    assert conductor.images[0].properties["process_restart"] == restart


def test_an_unknown_restart_is_wrong_usage(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """The driver would ignore it."""
    with pytest.raises(SystemExit):
        armillary("image", "create", "x", "--command", "true", "--restart", "often")
    assert conductor.images == []


@pytest.mark.parametrize("command", ["sh -c 'date", "  "], ids=["open quote", "nothing"])
def test_a_command_line_that_is_none_is_wrong_usage(
    command: str,
    armillary: Armillary,
    conductor: BuildingSuperConductor,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Better said here than by a build that fails on every host."""
    with pytest.raises(SystemExit):
        armillary("image", "create", "x", "--command", command)
    assert "argument --command" in capsys.readouterr().err
    assert conductor.images == []


def test_images_are_listed_shown_and_deleted_by_name(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """And by id."""
    first, second = builders.an_image("first"), builders.an_image("second")
    conductor.images = [first, second]
    assert [row["Name"] for row in armillary("image", "list", "-f", "json").json] == [
        "first",
        "second",
    ]
    assert armillary("image", "show", "second", "-f", "json").json["id"] == second.id
    assert armillary("image", "delete", first.id, "second").code == 0
    assert conductor.images == []


def test_an_ambiguous_name_is_not_guessed(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Two images may have one name; an id tells them apart."""
    conductor.images = [builders.an_image("x"), builders.an_image("x")]
    ended = armillary("image", "delete", "x")
    assert ended.code == 2
    assert "2 images are named 'x'" in ended.err
    assert armillary("image", "delete", conductor.images[0].id).code == 0
