"""Transfer of an image's data, tried again until it is complete or makes no progress."""

import contextlib
import logging
import time
from collections.abc import Callable, Iterator

import requests
from oslo_config import cfg

from armillary import exception
from armillary.backoff import Backoff

LOG = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 15.0, jitter=0.5)
REFUSED_MAX = 3
"""Number of tickets in a row that a service may refuse: one may have expired on its way."""
WINDOW_SECONDS_MIN = 60.0
"""Shortest time over which the rate of a transfer is measured."""


class TicketRefused(Exception):
    """The service does not accept a ticket: it expired on its way, or clocks differ."""

    def __str__(self) -> str:
        return "it refuses the ticket; compare the clocks of its machine and of the conductors"


class TooSlow(Exception):
    """Data comes, but so slowly that the transfer would not end in reasonable time."""


class Transfer:
    """The attempts at one transfer, until one succeeds; progress resets their number.

    It is given up after ``[image] retry_seconds_max`` without any data, or at less than
    ``transfer_bytes_per_second_min``.
    """

    def __init__(
        self,
        image_id: str,
        conf: cfg.ConfigOpts,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._image_id = image_id
        self._seconds = seconds = conf.image.retry_seconds_max
        self._bytes_per_second_min = conf.image.transfer_bytes_per_second_min
        self._sleep = sleep
        self._clock = clock
        self._window_seconds = max(seconds, WINDOW_SECONDS_MIN)
        self._begin_window()
        self._reset()
        self.is_done = False

    def resumed(self, pieces: Callable[[int], Iterator[bytes]]) -> Iterator[bytes]:
        """Yield all data; ``pieces`` is called for each attempt, with the byte to begin at.

        Raises Unavailable, and what ``pieces`` raises if another attempt cannot help.
        """
        done = 0
        while not self.is_done:
            with self.attempt():
                for piece in pieces(done):
                    done += len(piece)
                    self._note(len(piece))
                    yield piece

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Make an attempt; if it fails, wait before the next one.

        Raises Unavailable if another one cannot help, or is too late.
        """
        try:
            yield
        except TooSlow as error:
            raise self._given_up(error) from error
        except (requests.RequestException, exception.Unavailable, TicketRefused) as error:
            self._wait(error)
        else:
            self.is_done = True

    def _reset(self) -> None:
        self._count = self._refused = 0
        self._until = self._clock() + self._seconds

    def _begin_window(self) -> None:
        self._window_until, self._bytes = self._clock() + self._window_seconds, 0

    def _note(self, count: int) -> None:
        self._reset()
        self._bytes += count
        if self._clock() < self._window_until:
            return
        if self._bytes < self._bytes_per_second_min * self._window_seconds:
            raise TooSlow(
                f"it sent {self._bytes} bytes in {self._window_seconds:.0f} s, less than [image] "
                f"transfer_bytes_per_second_min = {self._bytes_per_second_min}"
            )
        self._begin_window()

    def _wait(self, reason: Exception) -> None:
        self._refused = self._refused + 1 if isinstance(reason, TicketRefused) else 0
        asked = _asked_seconds(reason)
        seconds = max(asked or 0.0, BACKOFF.seconds(self._count))
        is_hopeless = asked is None or self._refused >= REFUSED_MAX
        if is_hopeless or self._clock() + seconds > self._until:
            raise self._given_up(reason) from reason
        LOG.warning(
            "Image %s: the transfer is tried again in %.0f s: %s",
            self._image_id, seconds, _said(reason),
        )  # fmt: skip
        self._count += 1
        self._sleep(seconds)

    @staticmethod
    def _given_up(reason: Exception) -> exception.Unavailable:
        return exception.Unavailable(reason=f"the image service: {_said(reason)}")


def _asked_seconds(reason: Exception) -> float | None:
    """Return how long a service asks to wait; None if another attempt cannot help."""
    if isinstance(reason, exception.ArmillaryError):
        asked: float | None = reason.kwargs.get("retry_after_seconds", 0.0)
        return asked
    return None if isinstance(reason, requests.exceptions.SSLError) else 0.0


def _said(reason: Exception) -> str:
    if isinstance(reason, exception.ArmillaryError):
        return str(reason.kwargs.get("reason", reason.message))
    if isinstance(reason, requests.RequestException):
        cause = next((arg for arg in reason.args if arg), reason)
        return f"{type(reason).__name__}: {cause}"[:300]
    return str(reason)
