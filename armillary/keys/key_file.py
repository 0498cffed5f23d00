"""A file of secret keys, shared by processes: the first line is used for what is new."""

import secrets
import threading
from pathlib import Path

from armillary.files import private_files
from armillary.files.file_state import FileState, file_state

_KEY_BYTES = 32
_CHARACTERS_MIN = 32
_KEYS_MAX = 16


class KeyFile:
    """The keys of a file, one a line, read again when it changes; thread-safe.

    A new first line is used from then on; a line that is removed ends what was made with it. Short
    lines are ignored.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._keys: list[bytes] = []
        self._seen: FileState | None = None

    def current(self) -> list[bytes]:
        """Return the keys; none if there is no file. Raises OSError if it cannot be read."""
        with self._lock:
            state = file_state(self._path)
            if state != self._seen:
                self._keys = [] if state is None else _keys_in(self._path)
                self._seen = state
            return self._keys

    def current_or_made(self) -> list[bytes]:
        """Return the keys; write a first one if there is none. Raises OSError."""
        if not self.current():
            private_files.write_new(self._path, f"{secrets.token_urlsafe(_KEY_BYTES)}\n")
        return self.current()


def _keys_in(path: Path) -> list[bytes]:
    lines = (line.strip() for line in path.read_text(encoding="ascii", errors="replace").split())
    return [line.encode() for line in lines if len(line) >= _CHARACTERS_MIN][:_KEYS_MAX]
