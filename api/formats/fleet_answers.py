"""Answers about the fleet, ready to be sent: made once for each change, not for each request."""

import functools
import gzip
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

PAGES_MAX = 16
"""Pages that are kept: one has at most 20,000 hosts, and some 3 MB."""
_FAST = 1
"""Compression level: the others take several times as long for a tenth less."""


class Form(NamedTuple):
    """Identifies an answer: its page, with or without UUIDs."""

    limit: int
    marker: str | None
    with_uuids: bool


@dataclass(frozen=True)
class FleetAnswer:
    """The JSON of one page as of an epoch."""

    epoch: str
    plain: bytes

    @functools.cached_property
    def compressed(self) -> bytes:
        return gzip.compress(self.plain, _FAST, mtime=0)


class FleetAnswers:
    """The newest answer of each page that was asked for lately. Thread-safe; a view."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pages: OrderedDict[Form, FleetAnswer] = OrderedDict()

    def find(self, form: Form) -> FleetAnswer | None:
        """Return the last answer for a page, which may be out of date."""
        with self._lock:
            return self._pages.get(form)

    def keep(self, form: Form, answer: FleetAnswer) -> None:
        """Replace the answer for a page, and forget pages that were made before others."""
        with self._lock:
            self._pages[form] = answer
            self._pages.move_to_end(form)
            while len(self._pages) > PAGES_MAX:
                self._pages.popitem(last=False)
