"""Files of a workload's directory as an archive (tar), which is the data of a snapshot."""

import io
import tarfile
from collections.abc import Sequence
from pathlib import Path

from compute_agent.virt.process import process_files
from compute_agent.virt.process.process_files import File


def write(path: Path, files: Sequence[File]) -> None:
    """Write files to a new archive. Raises OSError."""
    with path.open("xb") as target, tarfile.open(fileobj=target, mode="w:gz") as archive:
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


def read(path: Path, bytes_max: int) -> list[File]:
    """Return the files of an archive, which anybody may have uploaded.

    Raises ValueError for one that is malformed or exceeds the limits, OSError.
    """
    files: list[File] = []
    left = bytes_max
    try:
        with tarfile.open(path, mode="r:gz") as archive:
            for header in archive:
                file = _file(archive, header, left)
                left -= len(file.data or b"")
                files.append(file)
                if len(files) > process_files.ENTRIES_MAX:
                    raise ValueError(f"it has more than {process_files.ENTRIES_MAX} files")
    except (tarfile.TarError, EOFError) as error:
        raise ValueError(f"it is not a complete archive (tar, gzip): {error}") from error
    process_files.check_paths(files)
    return files


def _file(archive: tarfile.TarFile, header: tarfile.TarInfo, bytes_max: int) -> File:
    name, mode = header.name.removeprefix("./").rstrip("/"), header.mode & 0o777
    if header.issym():
        return File(name, link=header.linkname)
    if header.isdir():
        return File(name, None, mode)
    if not header.isreg():
        raise ValueError(f"{name!a} is not a file, a directory or a symbolic link")
    if header.size > bytes_max:
        raise ValueError("its files are larger than [process] move_files_max_bytes")
    content = archive.extractfile(header)
    return File(name, None, mode, b"" if content is None else content.read())
