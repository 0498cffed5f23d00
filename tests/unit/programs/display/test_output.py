"""Output of lists: for people, for files, and with nothing in it."""

import csv
import io
import shlex
import subprocess
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from programs.display.output import Csv, Shell, Table, Value, items_of
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


@pytest.mark.parametrize(
    "name", ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", '=HYPERLINK("http://evil.example")']
)
def test_a_spreadsheet_runs_no_name(
    name: str, armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Of a server that another user made; programs that want the name itself ask for JSON."""
    conductor.servers[:] = [builders.an_instance(name, uuid=UUID, project_id="admin")]
    out = armillary("server", "list", "-f", "csv", "-c", "Name", "-c", "ID").out
    assert list(csv.reader(io.StringIO(out))) == [["Name", "ID"], [f"'{name}", UUID]]
    (shown,) = armillary("server", "list", "-f", "json").json
    assert shown["Name"] == name


@pytest.mark.parametrize(
    "name", ["$(touch {0})", "`touch {0}`", "a\\", '"; touch {0}; "', "${{HOME}}", "a'b", "!!"]
)
def test_a_shell_runs_nothing_of_what_it_is_given(
    name: str, armillary: Armillary, conductor: BuildingSuperConductor, tmp_path: Path
) -> None:
    """A name is what it is after ``eval``, and nothing else has happened."""
    made = tmp_path / "made"
    name = name.format(made)
    conductor.servers[:] = [builders.an_instance(name, uuid=UUID, project_id="admin")]
    out = armillary("server", "show", UUID, "-f", "shell", "-c", "name").out
    script = f'eval {shlex.quote(out)}; printf %s "$name"'
    ended = subprocess.run(["/bin/sh", "-c", script], capture_output=True, text=True, check=True)
    assert (ended.stdout, made.exists()) == (name, False)


class Terminal(io.StringIO):
    """What a person sees of standard output."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("form", [Csv(), Value(), Shell()], ids=["csv", "value", "shell"])
@pytest.mark.parametrize("stdout", [Terminal(), io.StringIO()], ids=["terminal", "file"])
def test_no_text_commands_the_terminal(form: Any, stdout: io.StringIO) -> None:
    """A property of another user's server, say; a program gets it as it is."""
    value = "\x1b]0;title\x07"
    options = Namespace(quote_mode="minimal", variables=[], prefix="")
    if isinstance(form, Shell):
        form.emit_one(["a"], [value], stdout, options)
    else:
        form.emit_list(["a"], [[value]], stdout, options)
    assert ("\x1b" in stdout.getvalue()) is not stdout.isatty()


@pytest.mark.parametrize(
    ("stdout", "columns", "max_width", "is_wrapped"),
    [
        (Terminal, None, None, True),
        (io.StringIO, None, None, False),
        (io.StringIO, "100", None, True),
        (io.StringIO, None, 100, True),
        (Terminal, None, 0, False),
    ],
    ids=["terminal", "pipe", "pipe with COLUMNS", "pipe with --max-width", "unlimited"],
)
def test_a_table_fits_a_terminal_and_is_not_wrapped_in_a_pipe(
    stdout: type[io.StringIO],
    columns: str | None,
    max_width: int | None,
    is_wrapped: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """There each item is one line with all columns, for ``grep`` and ``awk``."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)
    out = stdout()
    options = Namespace(max_width=max_width, columns=[])
    row = ["one two " * 12, "three four " * 12, ""]
    Table().emit_list(["First", "Second", "Empty"], [row], out, options)
    title, *lines = out.getvalue().splitlines()
    assert (len(lines) > 1) is is_wrapped
    assert ("Empty" in title) is not is_wrapped


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
