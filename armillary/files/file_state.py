"""State of a file: it changes with the file's content, whether that is rewritten or replaced."""

from pathlib import Path

FileState = tuple[int, ...]


def file_state(path: Path) -> FileState | None:
    """Return the state of a file, None if it is missing. Raises OSError."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
