"""Archives of workloads: files come back, and no archive takes more than it may."""

import gzip
import hashlib
import io
import os
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from compute_agent.virt.process import process_archives
from compute_agent.virt.process.process_files import File

BYTES_MAX = 1024**2
PEAK_BYTES_MAX = 4 * 1024**2
MANY = 64 * 1024**2
FILES = [File("d", None, 0o755), File("d/f", None, 0o600, b"data"), File("l", "d/f")]


def read(path: Path, *, bytes_max: int = BYTES_MAX) -> list[File]:
    """Read an archive whose digest is in its image's record."""
    digest = hashlib.sha512(path.read_bytes()).hexdigest()
    return process_archives.read(path, bytes_max, digest)


def packed(path: Path, *blocks: bytes) -> Path:
    path.write_bytes(gzip.compress(b"".join(blocks), compresslevel=1))
    return path


def block(kind: bytes, size: int, name: str = "f") -> bytes:
    """Return the header of something of this size."""
    header = tarfile.TarInfo(name)
    header.type, header.size = kind, size
    return header.tobuf(tarfile.GNU_FORMAT)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % tarfile.BLOCKSIZE)


def long_pax_header(path: Path) -> Path:
    return packed(path, block(b"x", MANY), b"%d comment=" % MANY, bytes(MANY))


def long_name(path: Path) -> Path:
    return packed(path, block(b"L", MANY), b"x" * MANY)


def large_file(path: Path) -> Path:
    return packed(path, block(b"0", MANY), bytes(MANY))


def headers_without_end(path: Path) -> Path:
    record = b"20 comment=aaaaaaaa\n"
    return packed(path, (block(b"g", len(record)) + padded(record)) * 20_000)


def chained_headers(path: Path) -> Path:
    record = b"20 comment=aaaaaaaa\n"
    return packed(path, (block(b"x", len(record)) + padded(record)) * 20_000)


def endless_size(path: Path) -> Path:
    return packed(path, block(b"S", 2**62), bytes(2048))


def negative_size(path: Path) -> Path:
    return packed(path, block(b"0", -1024), bytes(2048))


def sparse_file(path: Path) -> Path:
    record = b"28 GNU.sparse.size=99999999\n26 GNU.sparse.map=0,0,1,0\n"
    return packed(path, block(b"x", len(record)), padded(record), block(b"0", 0), bytes(1024))


@pytest.mark.parametrize(
    "bomb",
    [
        long_pax_header, long_name, large_file, headers_without_end, chained_headers,
        endless_size, negative_size, sparse_file,
    ],
)  # fmt: skip
def test_no_archive_takes_the_memory_that_it_names(
    bomb: Callable[[Path], Path], tmp_path: Path
) -> None:
    """It is refused before more is unpacked than the files of a workload may have."""
    path = bomb(tmp_path / "image")
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"larger|archive"):
            read(path)
        assert tracemalloc.get_traced_memory()[1] < PEAK_BYTES_MAX
    finally:
        tracemalloc.stop()


def test_files_come_back(tmp_path: Path) -> None:
    """With long names, and up to the limit."""
    long = File("n" * 200, None, 0o644, bytes(BYTES_MAX - 4))
    process_archives.write(tmp_path / "image", [*FILES, long])
    assert read(tmp_path / "image") == [*FILES, long]
    with pytest.raises(ValueError, match="larger"):
        read(tmp_path / "image", bytes_max=BYTES_MAX - 1)


def test_no_other_account_may_read_an_archive(tmp_path: Path) -> None:
    """While it is written, too, whatever the umask."""
    former = os.umask(0)
    try:
        process_archives.write(tmp_path / "image", FILES)
    finally:
        os.umask(former)
    assert oct((tmp_path / "image").stat().st_mode & 0o777) == "0o600"


@pytest.mark.parametrize("recorded", [None, "", "0" * 128])
def test_other_data_than_the_record_says_is_not_opened(
    tmp_path: Path, recorded: str | None
) -> None:
    """Another host, which may write to the shared directory, put it there; or none was stored."""
    process_archives.write(tmp_path / "image", FILES)
    with pytest.raises(ValueError, match="record"):
        process_archives.read(tmp_path / "image", BYTES_MAX, recorded)


def test_a_link_in_the_place_of_an_archive_is_not_followed(tmp_path: Path) -> None:
    """Nor does an image of any size get into memory."""
    process_archives.write(tmp_path / "other", FILES)
    (tmp_path / "image").symlink_to(tmp_path / "other")
    with pytest.raises(OSError, match="symbolic link"):
        read(tmp_path / "image")
    with (tmp_path / "large").open("wb") as file:
        file.truncate(process_archives.HEADERS_BYTES_MAX + BYTES_MAX + 1)
    with pytest.raises(ValueError, match="larger"):
        process_archives.read(tmp_path / "large", BYTES_MAX, "")


def test_an_archive_made_elsewhere_is_read(tmp_path: Path) -> None:
    """With the other form of long names."""
    with tarfile.open(tmp_path / "image", "w:gz", format=tarfile.GNU_FORMAT) as archive:
        header = tarfile.TarInfo("./" + "n" * 200)
        header.size = 3
        archive.addfile(header, io.BytesIO(b"abc"))
    (file,) = read(tmp_path / "image")
    assert (file.path, file.data) == ("n" * 200, b"abc")
