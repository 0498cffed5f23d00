"""The program ``armillary``: what runs for which first word, and what is loaded before."""

import subprocess
import sys

import pytest

from programs import client
from tests.fixtures import waiting

HEAVY = ("cliff", "requests", "rich", "oslo_config", "sqlalchemy", "falcon")

PRELUDE = f"""
import sys
from armillary import concurrency

def bootstrap(argv, binary):
    print(binary, argv)
    print(sorted(set({HEAVY!r}) & set(sys.modules)))
    raise SystemExit(0)

concurrency.bootstrap = bootstrap
from programs import client
"""


def test_up_chooses_its_backend_before_anything_is_loaded() -> None:
    """What eventlet has to patch must not be there yet."""
    code = f"{PRELUDE}\nclient.main(['up', '--port', '0'])"
    command = [sys.executable, "-c", code]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=waiting.seconds(60), check=True
    )
    assert ended.stdout.splitlines() == ["armillary ['--port', '0']", "[]"]


LOADED_FOR_A_COMMAND = """
import sys
from programs.commands.app import ClientApp

print(ClientApp().run(["--api-url", "http://127.0.0.1:1", "server", "list"]))
print(sorted({"requests", "rich", "oslo_config", "yaml", "alembic"} & set(sys.modules)))
"""


def test_a_command_loads_little_before_it_asks() -> None:
    """What it loads is most of what a short command takes."""
    command = [sys.executable, "-c", LOADED_FOR_A_COMMAND]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=waiting.seconds(60), check=True
    )
    assert ended.stdout.splitlines() == ["4", "[]"]


LOADED_FOR_HELP = """
import contextlib, io, sys
from programs import client

with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    client.main(["server", "list", "--help"])
print(sorted({"email.parser", "ssl", "urllib3", "difflib", "yaml"} & set(sys.modules)))
"""


def test_the_help_of_a_command_reads_no_metadata_of_what_is_installed() -> None:
    """They are in the form of mails; to read those of all distributions takes longest."""
    command = [sys.executable, "-c", LOADED_FOR_HELP]
    ended = subprocess.run(
        command, capture_output=True, text=True, timeout=waiting.seconds(60), check=True
    )
    assert ended.stdout.splitlines() == ["[]"]


def test_without_a_command_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """A newcomer types just the name."""
    assert client.main([]) == 0
    out = capsys.readouterr().out
    assert "server create" in out
    assert "Exit codes:" in out


def test_the_commands_line_is_taken_from_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a console script is called."""
    monkeypatch.setattr(sys, "argv", ["armillary", "help", "server", "create"])
    assert client.main() == 0
    assert "usage: armillary server create" in capsys.readouterr().out


def test_demo_has_options_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """It is not a command of the API."""
    with pytest.raises(SystemExit) as ended:
        client.main(["demo", "--help"])
    assert ended.value.code == 0
    assert "--keep" in capsys.readouterr().out
