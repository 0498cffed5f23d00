"""Rate limit of expensive requests: a token bucket for each user, of work such as making keys.

Most requests cost a process little more than it costs a client to send them. A few do not: there a
single user with a loop could keep a CPU busy. Such work is counted in units of about 0.1 s of it.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import falcon

from armillary.context import RequestContext

UNITS_AT_ONCE = 50.0
"""What a user may use after a while without such work."""
SECONDS_PER_UNIT = 2.0
"""How long a user waits for each further one: in the long run, a twentieth of a CPU."""
REQUESTS_AT_ONCE_MAX = 4
"""Expensive requests of a user that are at work at the same time."""
USERS_MAX = 10_000
"""Users remembered; the one that asked longest ago is forgotten first."""


@dataclass(slots=True)
class _Account:
    units: float
    at: float
    at_work: int = 0


@dataclass(slots=True)
class Spent:
    """Units that a request has used so far; the handler counts them."""

    units: float = 0.0

    def add(self, units: float) -> None:
        self.units += units


@dataclass(slots=True)
class WorkBudget:
    """Token buckets of users, in this process alone. Thread-safe. Administrators have no bound."""

    clock: Callable[[], float] = time.monotonic
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _accounts: OrderedDict[str, _Account] = field(default_factory=OrderedDict)

    @contextmanager
    def spending(self, context: RequestContext) -> Iterator[Spent]:
        """Let one request of a user do expensive work, and count it.

        What it needs is known afterwards, and may exceed what is left: the next one waits for
        longer. Raises status 429 if nothing is left, or too many requests of this user are at work.
        """
        spent = Spent()
        if context.is_admin:
            yield spent
            return
        user = str(context.user_id)
        self._begin(user)
        try:
            yield spent
        finally:
            self._end(user, spent.units)

    def _begin(self, user: str) -> None:
        with self._lock:
            account = self._replenished(user)
            missing = 1.0 - account.units
            if missing <= 0 and account.at_work < REQUESTS_AT_ONCE_MAX:
                account.at_work += 1
                return
        seconds = max(1, int(missing * SECONDS_PER_UNIT) + 1)
        raise falcon.HTTPTooManyRequests(
            description="Too many expensive requests by this user, one after another or at the "
            f"same time; try again after {seconds} s.",
            retry_after=seconds,
        )

    def _end(self, user: str, units: float) -> None:
        with self._lock:
            account = self._replenished(user)
            account.units -= units
            account.at_work = max(0, account.at_work - 1)

    def _replenished(self, user: str) -> _Account:
        now = self.clock()
        account = self._accounts.pop(user, None) or _Account(UNITS_AT_ONCE, now)
        gained = (now - account.at) / SECONDS_PER_UNIT
        account.units, account.at = min(UNITS_AT_ONCE, account.units + gained), now
        self._accounts[user] = account
        while len(self._accounts) > USERS_MAX:
            self._accounts.popitem(last=False)
        return account
