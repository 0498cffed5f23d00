"""Snapshots on the command line."""

from collections.abc import Callable

import pytest

from armillary.context import RequestContext
from objects.images.image_record import ImageRecord
from objects.instance import Instance
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

pytestmark = pytest.mark.usefixtures("poll_soon")

MakeServer = Callable[..., Instance]
WORDS = ("server", "image", "create", "web")


@pytest.fixture
def become(
    conductor: BuildingSuperConductor, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str | None], None]:
    """Return a function that says what an image becomes after the first look at it; None: gone."""

    def to(status: str | None) -> None:
        known = conductor.get_image

        def get_image(context: RequestContext, image: str) -> ImageRecord:
            record = known(context, image)
            if status is None:
                conductor.images.clear()
            else:
                conductor.images[0] = record.image.with_values(status=status)
            return record

        monkeypatch.setattr(conductor, "get_image", get_image)

    return to


def test_an_image_is_made_of_a_server(armillary: Armillary, a_server: MakeServer) -> None:
    """With the name of the server, unless it is given another."""
    a_server(vm_state="active")
    made = armillary(*WORDS, "-f", "json").json
    assert (made["name"], made["status"]) == ("web", "SAVING")
    more = ("--name", "web-1", "--property", "made_by=me", "-f", "json")
    made = armillary(*WORDS, *more).json
    assert made["name"] == "web-1"
    assert made["properties"]["made_by"] == "me"


def test_a_command_waits_until_the_image_is_stored(
    armillary: Armillary, a_server: MakeServer, become: Callable[[str | None], None]
) -> None:
    a_server(vm_state="active")
    become("active")
    assert armillary(*WORDS, "--wait", "-f", "json").json["status"] == "ACTIVE"


def test_an_image_that_is_not_stored_in_time_is_said(
    armillary: Armillary, a_server: MakeServer
) -> None:
    """It may come later."""
    a_server(vm_state="active")
    ended = armillary(*WORDS, "--wait", "--timeout", "0.01")
    assert ended.code == 5
    assert "1 of 1 not stored yet; the work continues." in ended.err


def test_an_image_that_could_not_be_stored_is_said(
    armillary: Armillary, a_server: MakeServer, become: Callable[[str | None], None]
) -> None:
    """Its record is removed then."""
    server = a_server(vm_state="active")
    become(None)
    ended = armillary(*WORDS, "--wait")
    assert ended.code == 1
    assert f"To see why: armillary server events {server.uuid}" in ended.err
