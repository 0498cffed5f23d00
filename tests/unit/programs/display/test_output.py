"""Output of lists: for people, for files, and with nothing in it."""

from __future__ import annotations

import pytest

from programs.display.output import items_of
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

UUID = "7a16f6c5-c511-4e7b-91ab-0b7a9960c74d"


@pytest.fixture(autouse=True)
def server(conductor: BuildingSuperConductor) -> None:
    """Have a server of which much is unknown."""
    conductor.servers.append(builders.an_instance("web", uuid=UUID, project_id="admin", host=None))


def test_a_list_begins_with_what_is_asked_most(armillary: Armillary) -> None:
    """And fits a terminal of 80 columns."""
    title, row = armillary("server", "list").out.splitlines()
    assert title.split() == ["Name", "Status", "Host", "Age", "Task", "Flavor", "ID"]
    assert row.split()[-1] == UUID[:8]
    assert max(len(title), len(row)) <= 80


def test_the_start_of_an_id_is_enough(armillary: Armillary) -> None:
    """It is what lists show."""
    assert armillary("server", "show", UUID[:8], "-f", "json").json["id"] == UUID
    assert armillary("server", "show", "7a16f6c6").code == 3


@pytest.mark.parametrize("form", ["csv", "value"])
def test_files_have_whole_ids_and_nothing_for_nothing(form: str, armillary: Armillary) -> None:
    """No None, which would be read as a host's name."""
    out = armillary("server", "list", "-f", form, "-c", "ID", "-c", "Host", "-c", "Task").out
    assert UUID in out
    assert "None" not in out


def test_an_empty_list_says_so(armillary: Armillary) -> None:
    """To people; a program gets an empty list."""
    ended = armillary("server", "list", "--name", "other")
    assert (ended.out, ended.err) == ("", "No servers found.\n")
    assert armillary("server", "list", "--name", "other", "-f", "json").json == []


@pytest.mark.parametrize(
    ("command", "items"),
    [
        ("resource class list", "resource classes"),
        ("server events", "server events"),
        ("cell list-hosts", "hosts"),
        ("key list", "keys"),
        ("resource provider inventory list", "resource provider inventories"),
        ("resource provider aggregate set", "resource provider aggregates"),
    ],
)
def test_messages_name_what_is_listed(command: str, items: str) -> None:
    """Derived from the command's words."""
    assert items_of(command) == items
