"""Runs: which earlier ones have certainly ended."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from compute_agent.journal import run_log
from compute_agent.journal.journal import Journal
from compute_agent.journal.run_log import FOLLOWS_MAX, RunLog
from objects.hosts.agent_run import AgentRun


@contextmanager
def opened(path: Path) -> Iterator[RunLog]:
    journal = Journal(path)
    journal.open()
    yield RunLog(journal, path)
    journal.close()


def begin(path: Path) -> AgentRun:
    with opened(path) as runs:
        return runs.begin()


def test_a_run_follows_those_before_it_newest_first(tmp_path: Path) -> None:
    """As many as a message may name."""
    path = tmp_path / "journal.sqlite"
    ids = [begin(path).id for _ in range(FOLLOWS_MAX + 3)]
    assert begin(path).follows == ids[-1 : -FOLLOWS_MAX - 1 : -1]


def test_a_copy_of_the_journal_follows_nothing(tmp_path: Path) -> None:
    """The process of the original may still live."""
    path = tmp_path / "journal.sqlite"
    first = begin(path)
    shutil.copytree(tmp_path, tmp_path.with_name("copy"))
    assert begin(tmp_path.with_name("copy") / path.name).follows == []
    assert begin(path).follows == [first.id]


def test_a_clone_of_the_machine_follows_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each boot has its own id; only the cell knows whether the other machine is alive."""
    path = tmp_path / "journal.sqlite"
    begin(path)
    other_boot = tmp_path / "boot_id"
    other_boot.write_text("another\n")
    monkeypatch.setattr(run_log, "_BOOT_ID", other_boot)
    assert begin(path).follows == []
