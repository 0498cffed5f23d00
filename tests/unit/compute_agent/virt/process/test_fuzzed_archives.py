"""Odd archives of workloads: each is read, or refused with a sentence, within its bounds."""

import gzip
import hashlib
import tarfile
from pathlib import Path

from hypothesis import strategies as st

from compute_agent.virt.process import process_archives
from tests.fixtures.checks.fuzzing import fuzzed

BYTES_MAX = 65_536
KINDS = st.sampled_from([b"0", b"1", b"2", b"3", b"5", b"6", b"7", b"L", b"K", b"x", b"g", b"S"])
NAMES = st.sampled_from(["f", "d/f", "../f", "/f", "", ".", "n" * 300, "a\x00b", "\udcff", "☃"])
SIZES = st.sampled_from([0, 1, 511, 512, 65_536, 65_537, -1, 2**33, 2**62])
DATA = st.sampled_from(
    [b"", b"x", b"20 comment=aaaaaaaa\n", b"9" * 5000 + b" path=x\n", b"\0" * 512]
)
PIECES = st.lists(st.tuples(KINDS, NAMES, SIZES | st.none(), DATA), max_size=6)
FLIPS = st.lists(st.tuples(st.integers(0, 4000), st.integers(0, 255)), max_size=4)


def archive(pieces: list[tuple[bytes, str, int | None, bytes]]) -> bytes:
    """Return a tar whose headers need not say what follows them."""
    blocks = bytearray()
    for kind, name, size, data in pieces:
        header = tarfile.TarInfo(name)
        header.type, header.size = kind, len(data) if size is None else size
        try:
            blocks += header.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")
        except ValueError:
            continue  # no header can say this
        blocks += data + bytes(-len(data) % tarfile.BLOCKSIZE)
    return bytes(blocks)


@fuzzed(st.tuples(PIECES, FLIPS, st.booleans()))
def test_an_odd_archive_is_read_or_refused(
    tmp_path: Path,
    value: tuple[list[tuple[bytes, str, int | None, bytes]], list[tuple[int, int]], bool],
) -> None:
    pieces, flips, is_packed_first = value
    content = archive(pieces)
    packed = bytearray(gzip.compress(content) if is_packed_first else content)
    for place, byte in flips:
        if place < len(packed):
            packed[place] = byte
    data = bytes(packed) if is_packed_first else gzip.compress(bytes(packed))
    path = tmp_path / "image"
    path.write_bytes(data)
    try:
        files = process_archives.read(path, BYTES_MAX, hashlib.sha512(data).hexdigest())
    except ValueError:
        return
    assert sum(len(file.data or b"") for file in files) <= BYTES_MAX
