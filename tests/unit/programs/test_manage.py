"""``armillary-manage`` as a program: it bootstraps, runs a command and ends with its code."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fixtures.programs.python_programs import StartProgram
from tests.fixtures.services.databases import newest_version

MAIN = "import sys; from programs.manage import main; sys.exit(main())"


@pytest.mark.parametrize("program", ["manage", "status"])
def test_help_is_all_that_is_printed(program: str) -> None:
    """No warning of a library stands before it."""
    words = {"manage": ["cell", "list"], "status": ["security", "check"]}[program]
    script = f"import sys; from programs.{program} import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", script, *words, "--help"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("usage:")
    assert done.stderr == ""


def test_the_program_ends_with_the_code_of_its_command(
    start_program: StartProgram, tmp_path: Path
) -> None:
    """Here that of a cell that is not known."""
    path = tmp_path / "conductor.conf"
    path.write_text(f"[api_database]\nconnection = sqlite:///{tmp_path}/api.sqlite\n")
    file = f"--config-file={path}"
    sync = start_program(MAIN, file, "db", "sync")
    assert (sync.wait_for_end(), sync.lines) == (
        0,
        [f"api: empty -> {newest_version('conductor.super_conductor.db.schema')}"],
    )
    delete = start_program(MAIN, file, "cell", "delete", "nix")
    assert delete.wait_for_end() == 1
    assert delete.lines == ["armillary-manage: Cell nix could not be found."]
