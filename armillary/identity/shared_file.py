"""A small JSON file that several processes read and change."""

import fcntl
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, TypeVar

from armillary import private_files

T = TypeVar("T")


class SharedFile(Generic[T]):
    """The content of a file, read again when it has changed; thread-safe.

    ``parse`` makes the content of the JSON value, ``{}`` while there is no file; ``plain`` is its
    inverse.
    """

    def __init__(
        self, path: Path, *, parse: Callable[[Any], T], plain: Callable[[T], object]
    ) -> None:
        self.path = path
        self._parse = parse
        self._plain = plain
        self._lock = threading.RLock()
        self._seen: tuple[int, ...] | None = None
        self._content = parse({})

    def current(self) -> T:
        """Return the content. Raises OSError, ValueError, KeyError if it cannot be read."""
        with self._lock:
            state = self._state()
            if state != self._seen:
                text = "{}" if state is None else self.path.read_text(encoding="utf-8")
                self._content = self._parse(json.loads(text))
                self._seen = state
            return self._content

    def change(self, make: Callable[[T], T]) -> None:
        """Replace the content by what ``make`` returns for it, while no other process changes it.

        Raises as ``current``, and what ``make`` raises: then nothing is changed.
        """
        with self._lock, self._exclusive():
            content = json.dumps(self._plain(make(self.current())))
            private_files.write(self.path, content)

    def _state(self) -> tuple[int, ...] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size, stat.st_ino

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Keep other processes from writing."""
        private_files.make_directory(self.path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        lock = os.open(self.path.with_suffix(".lock"), flags, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
        finally:
            os.close(lock)
