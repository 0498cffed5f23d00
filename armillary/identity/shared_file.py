"""A small JSON file that several processes read and change."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar

from armillary.files import private_files
from armillary.files.file_state import FileState, file_state

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
        self._seen: FileState | None = None
        self._content = parse({})

    def current(self) -> T:
        """Return the content. Raises OSError, ValueError, KeyError if it cannot be read."""
        with self._lock:
            state = file_state(self.path)
            if state != self._seen:
                text = "{}" if state is None else self.path.read_text(encoding="utf-8")
                self._content = self._parse(json.loads(text))
                self._seen = state
            return self._content

    def change(self, make: Callable[[T], T]) -> None:
        """Replace the content by what ``make`` returns for it, while no other process changes it.

        Raises as ``current``, and what ``make`` raises: then nothing is changed.
        """
        private_files.make_directory(self.path.parent)
        with self._lock, private_files.locked(self.path.with_suffix(".lock")):
            content = json.dumps(self._plain(make(self.current())))
            private_files.write(self.path, content)
