"""Polling for servers to be built, deleted or idle, at growing intervals."""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from armillary import exception
from armillary.backoff import Backoff
from programs.access.errors import ApiNotFound
from programs.commands.lookup import UNKNOWN
from programs.display.progress import Show
from programs.http_client import ApiClient, Document

BACKOFF = Backoff(0.1, 2.0, factor=1.3)
"""Polling interval."""
ASK_ONE_BY_ONE_MAX = 5

BUILDING = "BUILD"
GONE = "DELETED"
IDLE = "idle"


class WaitTimeout(exception.ArmillaryError):
    """The timeout has expired; the work continues in the background."""

    template = (
        "Timeout after %(timeout_seconds)g s: %(waiting)s of %(total)s not %(wanted)s yet; "
        "the work continues.%(reason)s"
    )


class Pace:
    """Timeout and polling interval."""

    def __init__(
        self,
        timeout_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.timeout_seconds = timeout_seconds
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + timeout_seconds
        self._polls = 0

    def pause(self) -> bool:
        """Wait until the next poll is due; return False when the timeout has expired."""
        remaining = self._deadline - self._clock()
        if remaining <= 0:
            return False
        self._sleep(min(BACKOFF.seconds(self._polls), remaining))
        self._polls += 1
        return True


def wait_until_built(
    api: ApiClient, servers: Sequence[str], reservation_id: str, pace: Pace, show: Show
) -> list[Document]:
    """Return the servers of one request when all builds have ended; omit deleted servers.

    Raises ``WaitTimeout``. Retries while the API does not answer.
    """
    look = _Poll(api, servers, {"reservation_id": reservation_id})
    look.until(lambda state: state not in (BUILDING, UNKNOWN), "built", pace, show)
    return look.found


def wait_until_gone(api: ApiClient, servers: Sequence[str], pace: Pace, show: Show) -> None:
    """Return when all servers are gone. Raises ``WaitTimeout``."""
    _Poll(api, servers, {}).until(lambda state: state == GONE, "gone", pace, show)


def wait_until_idle(
    api: ApiClient, servers: Sequence[str], pace: Pace, show: Show
) -> list[Document]:
    """Return the remaining servers when no task is in progress on any. Raises ``WaitTimeout``."""
    look = _Poll(api, servers, {}, _task)
    look.until(lambda state: state in (IDLE, GONE), IDLE, pace, show)
    return look.found


def _status(server: Document) -> str:
    return str(server["status"])


def _task(server: Document) -> str:
    if server["status"] == UNKNOWN:
        return UNKNOWN
    return str(server["OS-EXT-STS:task_state"] or IDLE)


class _Poll:
    """The states of some servers, polled until all are as wanted."""

    def __init__(
        self,
        api: ApiClient,
        servers: Sequence[str],
        query: Mapping[str, str],
        state_of: Callable[[Document], str] = _status,
    ) -> None:
        self._state_of = state_of
        self._api = api
        self._query = query
        self._states = dict.fromkeys(servers, BUILDING)
        self._documents: dict[str, Document] = {}

    @property
    def found(self) -> list[Document]:
        """The existing servers, in the order in which they were given."""
        return [self._documents[uuid] for uuid in self._states if uuid in self._documents]

    def until(self, is_done: Callable[[str], bool], wanted: str, pace: Pace, show: Show) -> None:
        waiting = list(self._states)
        reason = ""
        while waiting:
            try:
                self._refresh(waiting)
            except exception.Unavailable as error:
                reason = f" {error.message}"
            waiting = [uuid for uuid in waiting if not is_done(self._states[uuid])]
            show(len(self._states) - len(waiting), Counter(self._states.values()))
            if waiting and not pace.pause():
                raise WaitTimeout(
                    waiting=len(waiting),
                    total=len(self._states),
                    wanted=wanted,
                    timeout_seconds=pace.timeout_seconds,
                    reason=reason,
                )

    def _refresh(self, waiting: Sequence[str]) -> None:
        """Poll a list where that is cheaper; get servers missing from it one by one."""
        listed: dict[str, Document] = {}
        if len(waiting) > ASK_ONE_BY_ONE_MAX:
            servers = self._api.list_all("servers", "servers", "detail", query=self._query)
            listed = {server["id"]: server for server in servers}
        for uuid in waiting:
            self._note(uuid, listed.get(uuid) or self._get_or_none(uuid))

    def _get_or_none(self, uuid: str) -> Document | None:
        try:
            server: Document = self._api.get("servers", uuid)["server"]
        except ApiNotFound:
            return None
        return server

    def _note(self, uuid: str, server: Document | None) -> None:
        if server is None:
            self._states[uuid] = GONE
            self._documents.pop(uuid, None)
        else:
            self._states[uuid] = self._state_of(server)
            self._documents[uuid] = server
