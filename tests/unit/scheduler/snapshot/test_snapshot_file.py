"""The file of a snapshot: whole and of this process's kind, or not used at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler.snapshot import snapshot_file
from scheduler.snapshot.snapshot_file import Record, SnapshotUnusable

HEADER: Record = {"format": 1, "zone": "eu"}
RECORDS: list[Record] = [{"name": "a", "values": [1, 2.5, None]}, {"name": "ü"}]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a written file."""
    made = tmp_path / "snapshot"
    snapshot_file.write(made, {**HEADER, "written_at": "now"}, RECORDS)
    return made


def test_what_was_written_is_read(path: Path) -> None:
    """With the whole header first; the file is its owner's alone."""
    header, *records = snapshot_file.read(path, HEADER)
    assert header["written_at"] == "now"
    assert records == RECORDS
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("size", [0, 1, 30, 60, 100])
def test_a_cut_file_is_not_used(path: Path, size: int) -> None:
    """Whatever is left of it."""
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(SnapshotUnusable):
        snapshot_file.read(path, HEADER)


def test_no_changed_byte_is_taken(path: Path) -> None:
    """A flipped bit anywhere, also in the checksum."""
    whole = path.read_bytes()
    for at in range(len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(SnapshotUnusable):
            snapshot_file.read(path, HEADER)


def test_another_header_is_refused(path: Path) -> None:
    """Another version, deployment or zone is named in the reason."""
    with pytest.raises(SnapshotUnusable, match="its zone is 'eu', not 'us'"):
        snapshot_file.read(path, {**HEADER, "zone": "us"})
    with pytest.raises(SnapshotUnusable, match="there is none"):
        snapshot_file.read(path.with_name("missing"), HEADER)


def test_a_failed_write_leaves_the_former_file(path: Path) -> None:
    """And no draft beside it."""

    def broken() -> Iterator[Record]:
        yield {"name": "first"}
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        snapshot_file.write(path, HEADER, broken())
    assert snapshot_file.read(path, HEADER)[1:] == RECORDS
    assert list(path.parent.iterdir()) == [path]


def test_a_file_has_a_largest_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A larger one is neither written nor read."""
    monkeypatch.setattr(snapshot_file, "_SIZE_MAX", 50)
    with pytest.raises(SnapshotUnusable, match="larger than 50 bytes"):
        snapshot_file.write(path, HEADER, RECORDS)
    with pytest.raises(SnapshotUnusable, match="larger than 50 bytes"):
        snapshot_file.read(path, HEADER)
