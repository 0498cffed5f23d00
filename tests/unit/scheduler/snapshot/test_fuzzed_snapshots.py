"""Odd snapshots of a scheduler: each is taken over or left, and the scheduler starts."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from scheduler.snapshot import snapshot_file
from tests.fixtures.checks.fuzzing import altered, fuzzed
from tests.unit.scheduler.snapshot.test_snapshot_keeper import Process

_DEEP = [b"[" * 100_000, b'{"a":' * 100_000, b"\xff\xfe", b"null", b"9" * 5000]
LINES = st.lists(st.sampled_from(_DEEP) | st.binary(max_size=40), max_size=4)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return the records of a scheduler that knows something, which another one took over."""
    folder = tmp_path_factory.mktemp("scheduler")
    process = Process(folder).fill()
    process.keeper.write()
    assert Process(folder).keeper.restore()
    return snapshot_file.read(process.keeper.path, {})


@fuzzed(st.data())
def test_a_scheduler_starts_with_an_altered_snapshot(
    tmp_path: Path, records: list[dict[str, Any]], value: st.DataObject
) -> None:
    """Whose checksum is right, as that of a process which went wrong."""
    process = Process(tmp_path)
    odd = value.draw(altered(records))
    if not isinstance(odd, list) or not all(isinstance(each, dict) for each in odd):
        return  # no header, or no objects
    try:
        snapshot_file.write(process.keeper.path, odd[0] if odd else {}, odd[1:])
    except (ValueError, UnicodeError):
        return  # no process writes that
    process.keeper.restore()


@fuzzed(LINES)
def test_a_scheduler_starts_with_any_file(tmp_path: Path, value: list[bytes]) -> None:
    process = Process(tmp_path)
    process.keeper.path.parent.mkdir(exist_ok=True)
    process.keeper.path.write_bytes(b"\n".join(value))
    assert not process.keeper.restore()
