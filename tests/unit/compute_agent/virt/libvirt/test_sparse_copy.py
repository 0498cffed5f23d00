"""Copies of files with holes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compute_agent.virt.libvirt import sparse_copy

MIB = 1024**2


def test_holes_are_not_written_down(tmp_path: Path) -> None:
    """Neither in the middle nor at the end, and all data are there."""
    source, copied = tmp_path / "a", tmp_path / "b"
    with source.open("wb") as file:
        for offset in (0, 8 * MIB):
            os.pwrite(file.fileno(), b"data" * 2048, offset)
        file.truncate(16 * MIB)
    sparse_copy.copy(source, copied)
    assert copied.read_bytes() == source.read_bytes()
    assert copied.stat().st_blocks <= source.stat().st_blocks


@pytest.mark.parametrize("size", [0, 5000, 3 * MIB], ids=["empty", "small", "large"])
def test_what_was_there_is_replaced(tmp_path: Path, size: int) -> None:
    source, copied = tmp_path / "a", tmp_path / "b"
    source.write_bytes(os.urandom(size))
    copied.write_bytes(b"x" * 9000)
    sparse_copy.copy(source, copied)
    assert copied.read_bytes() == source.read_bytes()
