"""Files of a workload's directory as an archive (tar, gzip), which is the data of a snapshot.

Any user may upload data for an image that names a server, so an archive is read within bounds: its
size on the disk and unpacked, and the size of each header, which tarfile reads whole.
"""

import gzip
import hashlib
import hmac
import io
import os
import tarfile
import zlib
from collections.abc import Sequence
from pathlib import Path

from armillary.files import private_files
from compute_agent.virt.process import process_files
from compute_agent.virt.process.process_files import File

HEADER_BYTES_MAX = 65_536
"""For the headers of one file, with those of its long names."""
HEADERS_BYTES_MAX = 32 * 1024**2
"""For all headers and padding."""
_READS_AT_END_MAX = 16
"""A stream continues after its end as long as a header says that there is more."""
_STREAM_BYTES = tarfile.BLOCKSIZE * 20
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class _Bounded(io.RawIOBase):
    """Decompressed data; reading more than is allowed at the moment, or in all, is an error."""

    def __init__(self, source: gzip.GzipFile, bytes_max: int) -> None:
        super().__init__()
        self._source = source
        self._left = bytes_max
        self._allowed = 0
        self._reads_at_end = 0

    def allow(self, count: int) -> None:
        """Allow to read this much for what comes next, and what a stream reads ahead."""
        self._allowed = count + _STREAM_BYTES

    def read(self, count: int = -1) -> bytes:
        bound = max(0, min(self._allowed, self._left))
        data = self._source.read(min(count, bound + 1) if count >= 0 else bound + 1)
        if len(data) > bound:
            raise ValueError("it has larger headers or files than an archive of a workload may")
        self._reads_at_end += not data
        if self._reads_at_end > _READS_AT_END_MAX:
            raise EOFError("it ends in the middle of a file")
        self._allowed -= len(data)
        self._left -= len(data)
        return data


def write(path: Path, files: Sequence[File]) -> None:
    """Write files to a new archive, which no other account may read. Raises OSError."""
    with (
        open(path, "xb", opener=private_files.opener) as target,
        tarfile.open(fileobj=target, mode="w:gz") as archive,
    ):
        for file in files:
            header = tarfile.TarInfo(file.path)
            header.mode = file.mode
            if file.link is not None:
                header.type, header.linkname = tarfile.SYMTYPE, file.link
            elif file.data is None:
                header.type = tarfile.DIRTYPE
            else:
                header.size = len(file.data)
            archive.addfile(header, io.BytesIO(file.data or b""))


def read(path: Path, bytes_max: int, sha512: str | None) -> list[File]:
    """Return the files of an archive with this digest, which anybody may have uploaded.

    Raises ValueError for one that is another, is malformed or exceeds the limits, OSError.
    """
    packed = _content(path, bytes_max + HEADERS_BYTES_MAX)
    if not hmac.compare_digest(hashlib.sha512(packed).hexdigest(), sha512 or ""):
        raise ValueError("it is not what the image's record says (SHA-512)")
    try:
        with gzip.open(io.BytesIO(packed)) as unpacked:
            source = _Bounded(unpacked, bytes_max + HEADERS_BYTES_MAX)
            source.allow(HEADER_BYTES_MAX)
            with tarfile.open(fileobj=source, mode="r|", bufsize=_STREAM_BYTES) as archive:
                files = _files(archive, source, bytes_max)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError, RecursionError) as error:
        raise ValueError(f"it is not a complete archive (tar, gzip): {error}") from error
    process_files.check_paths(files)
    return files


def _content(path: Path, bytes_max: int) -> bytes:
    """Return the whole file: what is checked cannot change before it is used."""
    with os.fdopen(os.open(path, _READ), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > bytes_max:
            raise ValueError(f"it is larger than {bytes_max} bytes")
        return file.read(size)


def _files(archive: tarfile.TarFile, source: _Bounded, bytes_max: int) -> list[File]:
    files: list[File] = []
    left = bytes_max
    while (header := archive.next()) is not None:
        source.allow(HEADER_BYTES_MAX + header.size)
        file = _file(archive, header, left)
        left -= len(file.data or b"")
        files.append(file)
        if len(files) > process_files.ENTRIES_MAX:
            raise ValueError(f"it has more than {process_files.ENTRIES_MAX} files")
        source.allow(HEADER_BYTES_MAX)
    return files


def _file(archive: tarfile.TarFile, header: tarfile.TarInfo, bytes_max: int) -> File:
    name, mode = header.name.removeprefix("./").rstrip("/"), header.mode & 0o777
    if header.issym():
        return File(name, link=header.linkname)
    if header.isdir():
        return File(name, None, mode)
    if not header.isreg():
        raise ValueError(f"{name!a} is not a file, a directory or a symbolic link")
    if not 0 <= header.size <= bytes_max:
        raise ValueError("its files are larger than [process] move_files_max_bytes")
    content = archive.extractfile(header)
    return File(name, None, mode, b"" if content is None else content.read())
