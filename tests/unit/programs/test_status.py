"""``armillary-status`` as a program: it bootstraps, runs the checks and ends with their code."""

from pathlib import Path

from tests.fixtures.programs.python_programs import StartProgram

MAIN = "import sys; from programs.status import main; sys.exit(main())"


def test_the_program_ends_with_the_worst_code(start_program: StartProgram, tmp_path: Path) -> None:
    """There are no tables."""
    path = tmp_path / "conductor.conf"
    path.write_text(f"[api_database]\nconnection = sqlite:///{tmp_path}/api.sqlite\n")
    check = start_program(MAIN, f"--config-file={path}", "upgrade-check")
    assert check.wait_for_end() == 2
    assert "api has no tables" in check.output
