"""The command line itself: general options, errors, exit codes."""

import io
import logging
from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from programs.access.errors import ApiNotFound, ApiRefused, ApiUnreachable
from programs.commands import COMMANDS
from programs.commands.app import ClientApp, exit_code_of
from programs.commands.wait import WaitTimeout
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

FACTS: dict[str, Any] = {"status": 404, "reason": "x", "request_id": "y"}


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ApiRefused(**FACTS), 1),
        (RuntimeError("bug"), 1),
        (exception.Invalid("x"), 2),
        (ApiNotFound(**FACTS), 3),
        (exception.NotFound(what="x"), 3),
        (ApiUnreachable(url="x"), 4),
        (WaitTimeout("x"), 5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, code: int) -> None:
    """Scripts can tell them apart; the help lists them."""
    assert exit_code_of(error) == code


def test_no_server_there_is_one_line(armillary: Armillary) -> None:
    """With what to do about it."""
    ended = armillary("server", "list", url="http://127.0.0.1:1")
    assert ended.code == 4
    assert ended.out == ""
    assert ended.err == (
        "armillary: No Armillary API answers at http://127.0.0.1:1: connection refused. Start one "
        "with: armillary up. One that is elsewhere is named with --api-url or ARMILLARY_API_URL.\n"
    )


def test_options_win_over_the_environment(armillary: Armillary, url: str) -> None:
    """Address and token."""
    words = ("--api-url", url, "--token", "u1:p1", "host", "list")
    ended = armillary(*words, url="http://127.0.0.1:1")
    assert "HTTP 403" in ended.err


def test_an_unknown_command_names_those_near_it(armillary: Armillary) -> None:
    """On standard error, as wrong usage."""
    ended = armillary("sevrer", "list")
    assert ended.code == 2
    assert ended.out == ""
    assert ended.err.startswith(
        "armillary: Unknown command 'sevrer list'. Similar commands: server "
    )
    assert "server list" in ended.err


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("server group", "'server group' needs another word: create, delete, list, show"),
        ("hypervisor", "'hypervisor' needs another word: list, show, stats"),
    ],
)
def test_the_beginning_of_a_command_says_how_it_goes_on(
    typed: str, said: str, armillary: Armillary
) -> None:
    """All words that may follow."""
    ended = armillary(*typed.split())
    assert (ended.code, ended.err) == (2, f"armillary: {said}\n")


def test_a_wrong_option_is_told_in_two_lines(
    armillary: Armillary, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is wrong, and where the help is: not all options before it."""
    for words in (("server", "create", "a"), ("--http-timeout", "0"), ("up", "--port", "x")):
        with pytest.raises(SystemExit) as ended:
            armillary(*words)
        assert ended.value.code == 2
        wrong, help_is_at = capsys.readouterr().err.splitlines()
        assert ": error: " in wrong
        assert help_is_at.startswith("See: armillary ")


def test_options_without_a_command_are_wrong_usage(armillary: Armillary) -> None:
    """There is no shell of our own."""
    with pytest.raises(SystemExit) as ended:
        armillary("-v")
    assert ended.value.code == 2


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.sampled(every=4)
def test_every_command_explains_itself(name: str, armillary: Armillary) -> None:
    """--help after a command is that command's, with a sentence that says what it is for."""
    ended = armillary(*name.split(), "--help")
    assert ended.code == 0
    assert f"usage: armillary {name}" in ended.out
    assert ended.out.split("\n\n")[1].strip()


def test_verbose_shows_the_requests(armillary: Armillary) -> None:
    """One learns the API by it; the token is not shown."""
    ended = armillary("-v", "flavor", "list", token="u1:p1")
    assert "GET http://" in ended.err
    assert "/v2.1/flavors/detail: HTTP 200 in" in ended.err
    assert "u1:p1" not in ended.err


def test_a_log_file_gets_what_is_said(armillary: Armillary, tmp_path: Path) -> None:
    """With the time and more than the screen."""
    path = tmp_path / "log"
    armillary("--log-file", str(path), "flavor", "list")
    assert "/v2.1/flavors/detail: HTTP 200" in path.read_text()


def test_debug_shows_the_traceback(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """For a developer who looks for a mistake in this program."""
    ended = armillary("--debug", "server", "show", "x")
    assert ended.code == 3
    assert "Traceback (most recent call last)" in ended.err


def test_a_callers_log_is_left_as_it_was(armillary: Armillary) -> None:
    """The demo runs many commands in one process."""
    before = logging.getLogger().handlers[:]
    armillary("flavor", "list")
    assert logging.getLogger().handlers == before
    assert ClientApp.LOG.handlers == []
    assert ClientApp.LOG.propagate


def test_the_version_is_this_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Under the program's own name, however it was started."""
    with pytest.raises(SystemExit):
        ClientApp(io.StringIO(), io.StringIO()).run(["--version"])
    assert capsys.readouterr().out.startswith("armillary ")


def test_every_command_has_a_line_and_all_begin_at_one_column(armillary: Armillary) -> None:
    """The exit codes stand above them."""
    ended = armillary("help")
    assert ended.code == 0
    assert "Exit codes: 0 success;" in ended.out
    listed = ended.out.partition("\ncommands:\n")[2].partition("\n\n")[0].splitlines()
    lines = {line.strip().partition("  ")[0]: line for line in listed if line[2] != " "}
    assert set(COMMANDS) <= set(lines)
    width = max(map(len, lines))
    assert all(line[2 + width : 4 + width] == "  " for line in listed)
    assert all(line[4 + width :].strip() for line in listed)
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_the_option_shows_the_same(armillary: Armillary) -> None:
    """Whatever a newcomer tries first."""
    out = io.StringIO()
    with pytest.raises(SystemExit) as ended:
        ClientApp(out, io.StringIO()).run(["--help"])
    assert ended.value.code == 0
    assert out.getvalue() == armillary("help").out


def test_one_command_is_explained_in_full(armillary: Armillary) -> None:
    """With its options."""
    ended = armillary("help", "server", "create")
    assert "usage: armillary server create" in ended.out
    assert "--flavor" in ended.out
