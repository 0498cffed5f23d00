"""Files of a workload's directory in serialised form, for a move to another host.

Regular files, directories and symbolic links are included, with the permissions of owner, group and
others; hard links become copies; pipes, sockets and devices are skipped, and hard links to files of
other users, which the agent could read and the workload could not. Names must be UTF-8.
"""

import base64
import dataclasses
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

ENTRIES_MAX = 10_000
_PERMISSIONS = 0o777
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


@dataclasses.dataclass(frozen=True, slots=True)
class File:
    """A file, a directory (without data), or a link."""

    path: str
    link: str | None = None
    mode: int = 0
    data: bytes | None = None

    def to_plain(self) -> dict[str, object]:
        """Return ``path``, and either ``link``, or ``mode`` and, for a file, ``data`` in base64."""
        if self.link is not None:
            return {"path": self.path, "link": self.link}
        plain = {"path": self.path, "mode": self.mode}
        if self.data is None:
            return plain
        return {**plain, "data": base64.b64encode(self.data).decode("ascii")}


def measure(home: Path, bytes_max: int) -> None:
    """Raise ValueError if a directory exceeds the limits."""
    for _ in _walk(home, bytes_max):
        pass


def pack(home: Path, bytes_max: int) -> list[File]:
    """Return the contents of a directory. Raises OSError; ValueError if it exceeds the limits."""
    files: list[File] = []
    left = bytes_max
    for path, name, directory_fd, found in _walk(home, bytes_max):
        mode = found.st_mode & _PERMISSIONS
        if stat.S_ISLNK(found.st_mode):
            files.append(File(path, _text(os.readlink(name, dir_fd=directory_fd))))
        elif stat.S_ISREG(found.st_mode):
            data = _read(name, directory_fd, found, left)
            left -= len(data)
            files.append(File(path, None, mode, data))
        else:
            files.append(File(path, None, mode))
    return files


def check(entries: Sequence[Mapping[str, Any]], bytes_max: int) -> list[File]:
    """Return the files that another host packed.

    Raises ValueError if it is malformed or exceeds the limits.
    """
    if len(entries) > ENTRIES_MAX:
        raise ValueError(f"there are more than {ENTRIES_MAX} files")
    try:
        files = [_check_entry(entry) for entry in entries]
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"the files sent by the other host are malformed: {error}") from error
    _check_places(files)
    if sum(len(file.data or b"") for file in files) > bytes_max:
        raise ValueError(f"the files are larger than {bytes_max} bytes")
    return files


def check_paths(files: Sequence[File]) -> None:
    """Raise ValueError if files could be written elsewhere than below their directory."""
    for file in files:
        _check_path(file.path)
    _check_places(files)


def tree(contents: Mapping[str, bytes]) -> list[File]:
    """Return files by path, and the directories above them, for their owner alone."""
    above = {str(parent) for path in contents for parent in PurePosixPath(path).parents}
    directories = [File(path, None, 0o700) for path in sorted(above - {"."})]
    return directories + [File(path, None, 0o600, data) for path, data in contents.items()]


def unpack(home: Path, files: Sequence[File]) -> None:
    """Write files into an empty directory. Raises OSError.

    Links are created after all writes, so that nothing is written through a link. The permissions
    of a directory are set after those of its contents.
    """
    for file in files:
        if file.data is not None:
            _write(home / file.path, file.data)
        elif file.link is None:
            (home / file.path).mkdir()
    for file in files:
        if file.link is not None:
            (home / file.path).symlink_to(file.link)
    for file in reversed(files):
        if file.link is None:
            (home / file.path).chmod(file.mode)


def give_to(home: Path, uid: int) -> None:
    """Make a user the owner of a directory and its contents, while no workload uses it.

    A file with further hard links keeps its owner: the others may be anywhere. Raises OSError.
    """
    for _, directories, files, directory_fd in os.fwalk(home, topdown=False):
        for name in (*directories, *files):
            found = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode) or found.st_nlink == 1:
                os.chown(name, uid, -1, dir_fd=directory_fd, follow_symlinks=False)
    os.chown(home, uid, -1)


def _walk(home: Path, bytes_max: int) -> Iterator[tuple[str, str, int, os.stat_result]]:
    """Yield path, name, directory fd and stat of all included entries, directories first.

    Raises ValueError as soon as a limit is exceeded.
    """
    count = size = 0
    owner = home.stat().st_uid
    for parent, directories, files, directory_fd in os.fwalk(home, onerror=_raise):
        for name in (*directories, *files):
            found = os.stat(name, dir_fd=directory_fd, follow_symlinks=False)
            if not _travels(found, owner):
                continue
            count += 1
            size += found.st_size if stat.S_ISREG(found.st_mode) else 0
            if count > ENTRIES_MAX:
                raise ValueError(f"its directory has more than {ENTRIES_MAX} files")
            if size > bytes_max:
                raise ValueError(f"the files in its directory are larger than {bytes_max} bytes")
            path = _text((Path(parent) / name).relative_to(home).as_posix())
            yield path, name, directory_fd, found


def _raise(error: OSError) -> None:
    raise error


def _travels(found: os.stat_result, owner: int) -> bool:
    """Return whether an entry of a directory of ``owner`` is included."""
    if stat.S_ISREG(found.st_mode):
        return found.st_nlink == 1 or found.st_uid == owner
    return stat.S_ISDIR(found.st_mode) or stat.S_ISLNK(found.st_mode)


def _read(name: str, directory_fd: int, found: os.stat_result, bytes_max: int) -> bytes:
    """Return the content of the file that was found under a name.

    Raises ValueError if it grew beyond the limit, or the name is another file's by now.
    """
    with os.fdopen(os.open(name, _READ, dir_fd=directory_fd), "rb") as file:
        if not os.path.samestat(found, os.fstat(file.fileno())):
            raise ValueError("the files in its directory changed while being copied")
        data = file.read(bytes_max + 1)
    if len(data) > bytes_max:
        raise ValueError("the files in its directory grew while being copied")
    return data


def _write(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
        file.write(data)


def _text(path: str) -> str:
    """Return a path that can be sent. Raises ValueError if it is not UTF-8."""
    try:
        path.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(f"its directory has a file whose name is not UTF-8: {path!a}") from error
    return path


def _check_places(files: Sequence[File]) -> None:
    """Raise ValueError unless each path is there once and below directories sent before it.

    So no path leads through a link that was sent, too.
    """
    seen, directories = set(), {""}
    for file in files:
        if file.path in seen or file.path.rpartition("/")[0] not in directories:
            raise ValueError(f"{file.path!a} is there twice, or is not in a directory sent")
        seen.add(file.path)
        if file.link is None and file.data is None:
            directories.add(file.path)


def _check_path(path: str) -> None:
    if "\0" in path or any(part in ("", ".", "..") for part in path.split("/")):
        raise ValueError(f"{path!a} is not a path below the directory")


def _check_entry(entry: Mapping[str, Any]) -> File:
    path, link, mode = entry["path"], entry.get("link"), entry.get("mode", 0)
    if not isinstance(path, str):
        raise TypeError("a path is not text")
    _check_path(path)
    if link is not None and (not isinstance(link, str) or not link or "\0" in link):
        raise ValueError(f"{path!a} has an invalid link target")
    if not isinstance(mode, int) or not 0 <= mode <= _PERMISSIONS:
        raise ValueError(f"{path!a} has an invalid mode")
    if link is not None or "data" not in entry:
        return File(path, link, mode)
    return File(path, None, mode, base64.b64decode(entry["data"], validate=True))
