"""Our own image service as a host uses it: data of images over HTTP, by tickets.

A ticket is asked for when it is needed, and again for each retry: it expires soon. Data that was
cut off is continued where it ended.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import requests
from oslo_config import cfg

from armillary import exception
from armillary.images import http_data
from compute_agent.virt.image_fetch import always_needed
from compute_agent.virt.transfers import TicketRefused, Transfer
from objects.images.image_ticket import DIGEST_HEADER, HEADER, READ, WRITE, ImageTicket

_DATA = "application/octet-stream"

GetTicket = Callable[[str, str, str | None], ImageTicket | None]
"""Takes an image id, the access and the instance that the image is for (None: an operator asked for
it). Returns a new ticket; None if hosts find images by themselves. Raises what RPC clients raise,
Forbidden and ImageNotFound."""


class ImageService:
    """Client of one host. Thread-safe.

    ``is_needed`` returns whether an instance still needs what it transfers.
    Methods raise Unavailable if the service makes no progress for ``[image] retry_seconds_max``,
    ImageNotFound, Forbidden, Invalid.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        get_ticket: GetTicket,
        *,
        is_needed: Callable[[str], bool] = always_needed,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._conf = conf
        self.get_ticket = get_ticket
        self.is_needed = is_needed
        self._sleep = sleep
        self._clock = clock

    def download(self, ticket: ImageTicket, instance_uuid: str | None) -> Iterator[bytes]:
        """Yield the data of a ticket's image, piece by piece, in one go for the caller."""
        unused = [ticket]

        def pieces(start: int) -> Iterator[bytes]:
            current = unused.pop() if unused else None
            current = current or self._renewed(ticket.image_id, READ, instance_uuid)
            return self._pieces(current, start)

        return self._transfer(ticket.image_id).resumed(pieces)

    def upload(self, image_id: str, path: Path, sha512: str, instance_uuid: str) -> None:
        """Store the data of a snapshot; from the start again after a lost connection."""
        transfer = self._transfer(image_id)
        while not transfer.is_done:
            with transfer.attempt():
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
            yield from http_data.pieces(answer, start)

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

    def _transfer(self, image_id: str) -> Transfer:
        return Transfer(image_id, self._conf, sleep=self._sleep, clock=self._clock)


def _raise_for(answer: requests.Response, image_id: str) -> None:
    """Raise an error for a response that is not a success."""
    status, codes = answer.status_code, requests.codes
    if status in (codes.ok, codes.partial_content, codes.no_content):
        return
    if status == codes.unauthorized:
        raise TicketRefused
    if status == codes.not_found:
        raise exception.ImageNotFound(image=image_id)
    if status in (codes.too_many_requests, *range(500, 600)):
        seconds = http_data.retry_after_seconds(answer.headers)
        raise exception.Unavailable(reason=f"status {status}", retry_after_seconds=seconds)
    raise exception.Invalid(
        reason=f"the image service refuses image {image_id}: status {status}, {answer.text[:200]!r}"
    )
