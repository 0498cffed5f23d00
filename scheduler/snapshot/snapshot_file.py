"""The file of a snapshot: JSON lines between a header and a checksum, replaced atomically."""

import hashlib
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from armillary.files import private_files

Record = dict[str, Any]

_SIZE_MAX = 512 * 1024 * 1024
"""Maximum size in bytes: some 200,000 hosts."""

_LINE_MAX = 64 * 1024 * 1024


class SnapshotUnusable(Exception):
    """A file is missing, damaged, too large or of another deployment. ``str`` gives the reason."""


def write(
    path: Path,
    header: Mapping[str, Any],
    records: Iterable[Record],
    pause: Callable[[], None] = lambda: None,
) -> int:
    """Replace the file and return its size in bytes. Raises OSError, SnapshotUnusable.

    ``pause`` is called after each record.
    """
    digest, size = hashlib.sha256(), 0
    with private_files.replacing(path) as file:
        for record in itertools.chain([dict(header)], records):
            line = _line(record)
            size += len(line)
            if size > _SIZE_MAX:
                raise SnapshotUnusable(f"it would be larger than {_SIZE_MAX:,} bytes")
            digest.update(line)
            file.write(line)
            pause()
        file.write(f"{json.dumps({'sha256': digest.hexdigest()})}\n".encode())
    return size


def read(path: Path, header: Mapping[str, Any]) -> list[Record]:
    """Return the records of a complete file with an equal header. Raises SnapshotUnusable.

    The header may have more keys than the expected ones; it is the first record.
    """
    try:
        if not path.is_file():  # reading a device or pipe may never end
            raise SnapshotUnusable("there is none")
        if path.stat().st_size > _SIZE_MAX:
            raise SnapshotUnusable(f"it is larger than {_SIZE_MAX:,} bytes")
        with path.open("rb") as file:
            lines = _lines(file)
            found = _parsed(next(lines, b""))
            for key, expected in header.items():
                if found.get(key) != expected:
                    raise SnapshotUnusable(
                        f"its {key} is {found.get(key)!r:.80}, not {expected!r:.80}"
                    )
            return _complete(found, lines)
    except FileNotFoundError as error:
        raise SnapshotUnusable("there is none") from error
    except OSError as error:
        raise SnapshotUnusable(str(error)) from error


def _complete(header: Record, lines: Iterator[bytes]) -> list[Record]:
    """Return all records. Raises SnapshotUnusable unless the last line is their checksum."""
    records, last = [header], b""
    digest = hashlib.sha256(_line(header))
    for line in lines:
        if last:
            digest.update(last)
            records.append(_parsed(last))
        last = line
    if _parsed(last).get("sha256") != digest.hexdigest():
        raise SnapshotUnusable("it is damaged: its checksum is missing or wrong")
    return records


def _line(record: Record) -> bytes:
    return f"{json.dumps(record, separators=(',', ':'))}\n".encode()


def _lines(file: Any) -> Iterator[bytes]:
    while line := file.readline(_LINE_MAX):
        yield line


def _parsed(line: bytes) -> Record:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SnapshotUnusable("it is damaged: a line is not JSON") from error
    if not isinstance(found, dict):
        raise SnapshotUnusable("it is damaged: a line is not an object")
    return found
