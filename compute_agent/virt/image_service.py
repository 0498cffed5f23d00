"""Our own image service as a host uses it: data of images over HTTP, by tickets.

A ticket is asked for when it is needed, and again for each retry: it expires soon. Data that was
cut off is continued where it ended.
"""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import requests
from oslo_config import cfg

from armillary import exception
from armillary.backoff import Backoff
from objects.images.image_ticket import DIGEST_HEADER, HEADER, READ, WRITE, ImageTicket

LOG = logging.getLogger(__name__)

PIECE_BYTES = 64 * 1024
"""Of a lost connection, less than this comes twice."""
BACKOFF = Backoff(1.0, 15.0, jitter=0.5)
REFUSED_MAX = 3
"""Number of tickets in a row that the service may refuse: one may have expired on its way."""
_DATA = "application/octet-stream"

GetTicket = Callable[[str, str, str | None], ImageTicket | None]
"""Takes an image id, the access and the instance that the image is for (None: an operator asked for
it). Returns a new ticket; None if hosts find images by themselves. Raises what RPC clients raise,
Forbidden and ImageNotFound."""


class ImageService:
    """Client of one host. Thread-safe.

    Methods raise Unavailable if the service makes no progress for ``[image] retry_seconds_max``,
    ImageNotFound, Forbidden, Invalid.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        get_ticket: GetTicket,
        *,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conf = conf
        self.get_ticket = get_ticket
        self._sleep = sleep
        self._clock = clock

    def download(self, ticket: ImageTicket, instance_uuid: str | None) -> Iterator[bytes]:
        """Yield the data of a ticket's image, piece by piece, in one go for the caller."""
        done, retries = 0, self._retries(ticket.image_id)
        unused: ImageTicket | None = ticket
        while not retries.is_done:
            with retries.attempt():
                current = unused or self._renewed(ticket.image_id, READ, instance_uuid)
                unused = None
                for piece in self._pieces(current, done):  # the library notices a cut-off end
                    done += len(piece)
                    retries.note_progress()
                    yield piece

    def upload(self, image_id: str, path: Path, sha512: str, instance_uuid: str) -> None:
        """Store the data of a snapshot; from the start again after a lost connection."""
        retries = self._retries(image_id)
        while not retries.is_done:
            with retries.attempt():
                self._send(self._renewed(image_id, WRITE, instance_uuid), path, sha512)

    def _send(self, ticket: ImageTicket, path: Path, sha512: str) -> None:
        """Send a file."""
        headers = {HEADER: ticket.token, DIGEST_HEADER: sha512, "Content-Type": _DATA}
        with (
            path.open("rb") as data,
            self._session() as session,
            contextlib.closing(
                session.put(
                    ticket.url, data=data, headers=headers, allow_redirects=False,
                    timeout=self._conf.image.request_timeout_seconds,
                )
            ) as answer,
        ):  # fmt: skip
            _raise_for(answer, ticket.image_id)

    def _pieces(self, ticket: ImageTicket, start: int) -> Iterator[bytes]:
        """Yield data from a byte on."""
        headers = {HEADER: ticket.token, "Accept": _DATA, "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        with (
            self._session() as session,
            contextlib.closing(
                session.get(
                    ticket.url, headers=headers, stream=True, allow_redirects=False,
                    timeout=self._conf.image.request_timeout_seconds,
                )
            ) as answer,
        ):  # fmt: skip
            _raise_for(answer, ticket.image_id)
            known = start if answer.status_code == requests.codes.ok else 0  # all of it
            for piece in answer.iter_content(PIECE_BYTES):
                new = piece[known:]
                known -= len(piece) - len(new)
                if new:
                    yield new

    def _renewed(self, image_id: str, access: str, instance_uuid: str | None) -> ImageTicket:
        ticket = self.get_ticket(image_id, access, instance_uuid)
        if ticket is None:
            raise exception.Forbidden(
                reason=f"there is no ticket for image {image_id} any more; [image] endpoint of the "
                "conductors may have been removed"
            )
        return ticket

    def _session(self) -> requests.Session:
        """Return a session that ignores proxies and passwords of the environment."""
        session = requests.Session()
        session.trust_env = False
        session.verify = self._conf.image.cafile or True
        return session

    def _retries(self, image_id: str) -> _Retries:
        return _Retries(
            image_id, self._conf.image.retry_seconds_max, sleep=self._sleep, clock=self._clock
        )


class _TicketRefused(Exception):
    """The service does not accept a ticket: it expired on its way, or clocks differ."""

    def __str__(self) -> str:
        return "it refuses the ticket; compare the clocks of its machine and of the conductors"


class _Retries:
    """The attempts at one transfer, until one succeeds; each progress resets their number."""

    def __init__(
        self,
        image_id: str,
        seconds: float,
        *,
        sleep: Callable[[float], None],
        clock: Callable[[], float],
    ) -> None:
        self._image_id = image_id
        self._seconds = seconds
        self._sleep = sleep
        self._clock = clock
        self.is_done = False
        self.note_progress()

    def note_progress(self) -> None:
        self._count = self._refused = 0
        self._until = self._clock() + self._seconds

    @contextlib.contextmanager
    def attempt(self) -> Iterator[None]:
        """Make an attempt; if it fails, wait before the next one.

        Raises Unavailable if another one cannot help, or is too late.
        """
        try:
            yield
        except (requests.RequestException, exception.Unavailable, _TicketRefused) as error:
            self._wait(error)
        else:
            self.is_done = True

    def _wait(self, reason: Exception) -> None:
        self._refused = self._refused + 1 if isinstance(reason, _TicketRefused) else 0
        seconds = BACKOFF.seconds(self._count)
        is_hopeless = isinstance(reason, requests.exceptions.SSLError)
        if is_hopeless or self._refused >= REFUSED_MAX or self._clock() + seconds > self._until:
            raise exception.Unavailable(reason=f"the image service: {_said(reason)}")
        LOG.warning(
            "Image %s: the transfer is tried again in %.0f s: %s",
            self._image_id, seconds, _said(reason),
        )  # fmt: skip
        self._count += 1
        self._sleep(seconds)


def _raise_for(answer: requests.Response, image_id: str) -> None:
    """Raise an error for a response that is not a success."""
    status, codes = answer.status_code, requests.codes
    if status in (codes.ok, codes.partial_content, codes.no_content):
        return
    if status == codes.unauthorized:
        raise _TicketRefused
    if status == codes.not_found:
        raise exception.ImageNotFound(image=image_id)
    if status in (codes.too_many_requests, *range(500, 600)):
        raise exception.Unavailable(reason=f"status {status}")
    raise exception.Invalid(
        reason=f"the image service refuses image {image_id}: status {status}, {answer.text[:200]!r}"
    )


def _said(reason: Exception) -> str:
    if isinstance(reason, exception.ArmillaryError):
        return reason.message
    if isinstance(reason, requests.RequestException):
        cause = next((arg for arg in reason.args if arg), reason)
        return f"{type(reason).__name__}: {cause}"[:300]
    return str(reason)
