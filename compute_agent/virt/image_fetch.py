"""Fetches of images under way on a host: one an image, for all builds that need it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable

from armillary import exception
from armillary.context import RequestContext, current_context, log_context

POLL_SECONDS = 0.25

IsStopped = Callable[[], bool]
"""Returns whether no build waits for a fetch any more."""


def always_needed(_instance_uuid: str) -> bool:
    """Return True: every instance needs its image."""
    return True


class FetchStopped(Exception):
    """No build waits for the image any more, so what came of it is dropped."""


class ImageFetches:
    """The fetches of one host, each in a thread of its own: an image service may stall.

    ``is_needed`` returns whether an instance still needs its image; it may be deleted meanwhile.
    """

    def __init__(self, is_needed: Callable[[str], bool]) -> None:
        self._is_needed = is_needed
        self._lock = threading.Lock()
        self._under_way: dict[str, _Fetch] = {}

    def join(
        self, image_id: str, instance_uuid: str | None, run: Callable[[IsStopped], bool]
    ) -> bool:
        """Wait for the fetch of an image, begun with ``run`` if there is none; return its result.

        Raises what ``run`` raises, and Unavailable when the instance does not need it any more.
        """
        while True:
            fetch, is_own = self._enter(image_id, run)
            try:
                return self._result(fetch, instance_uuid)
            except (exception.Forbidden, exception.NotFound):
                if is_own:  # otherwise it is about the instance that the fetch was begun for
                    raise
            finally:
                self._leave(image_id, fetch)

    def _enter(self, image_id: str, run: Callable[[IsStopped], bool]) -> tuple[_Fetch, bool]:
        with self._lock:
            fetch = self._under_way.get(image_id)
            is_own = fetch is None or fetch.ended.is_set()
            if fetch is None or is_own:
                fetch = self._under_way[image_id] = _Fetch()
                context = current_context()
                threading.Thread(
                    target=fetch.run, args=(context, run), name="image-fetch", daemon=True
                ).start()
            fetch.waiting += 1
            return fetch, is_own

    def _leave(self, image_id: str, fetch: _Fetch) -> None:
        with self._lock:
            fetch.waiting -= 1
            if not fetch.waiting:
                fetch.stopped.set()
                if self._under_way.get(image_id) is fetch:
                    del self._under_way[image_id]

    def _result(self, fetch: _Fetch, instance_uuid: str | None) -> bool:
        while not fetch.ended.wait(POLL_SECONDS):
            if instance_uuid is not None and not self._is_needed(instance_uuid):
                raise exception.Unavailable(reason="the server is deleted meanwhile")
        if fetch.error is not None:
            raise fetch.error
        return fetch.result


@dataclasses.dataclass(eq=False)
class _Fetch:
    waiting: int = 0
    result: bool = False
    error: Exception | None = None
    ended: threading.Event = dataclasses.field(default_factory=threading.Event)
    stopped: threading.Event = dataclasses.field(default_factory=threading.Event)

    def run(self, context: RequestContext | None, run: Callable[[IsStopped], bool]) -> None:
        try:
            with log_context(context):
                self.result = run(self.stopped.is_set)
        except Exception as error:
            self.error = error
        finally:
            self.ended.set()
