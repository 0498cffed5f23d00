"""Images that the hosts of an aggregate fetch in advance, a bounded number of hosts at a time.

Nothing of a request is stored. Hosts fetch what a build needs anyway, so a request that ends with
its conductor is sent again by the operator who sees in the log, or misses in it, that it ended.
"""

from __future__ import annotations

import collections
import logging
import threading
import time
from collections.abc import Callable, Sequence

from oslo_config import cfg

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from armillary.db import Database
from conductor.super_conductor.db import host_mappings
from conductor.super_conductor.db.catalogue import aggregates, images
from conductor.super_conductor.hosts.cells import Cells
from conductor.super_conductor.servers.image_tickets import ImageTickets
from objects.aggregate import Aggregate
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import PRIVATE_PROPERTIES, ImageMeta
from objects.images.image_record import ACTIVE, ImageRecord
from objects.images.image_ticket import ImageTicket
from rpc.notifications import SILENT, Notifier

LOG = logging.getLogger(__name__)

POLL_SECONDS = 2.0
UNANSWERED_MAX = 3
"""Number of questions in a row that a host may leave unanswered before the next host's turn."""
REQUESTS_MAX = 100


class ImageCaching:
    """Endpoint of ``cache_images``, see ``SuperConductorAPI``."""

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        database: Database,
        cells: Cells,
        notifier: Notifier = SILENT,
        *,
        tickets: ImageTickets,
        clock: Callable[[], float] = time.monotonic,
        poll_seconds: float = POLL_SECONDS,
        workers: WorkerPool | None = None,
    ) -> None:
        self._conf = conf
        self._database = database
        self._cells = cells
        self._notifier = notifier
        self._tickets = tickets
        self._clock = clock
        self._poll_seconds = poll_seconds
        self._stopping = threading.Event()
        size = conf.image_cache.precache_concurrency
        self._pool = workers or WorkerPool(
            size, "image-caching", queue_size_max=size * REQUESTS_MAX
        )

    def cache_images(
        self, context: RequestContext, aggregate: str, image_ids: Sequence[str]
    ) -> None:
        with self._database.reader() as session:
            found = aggregates.get_aggregate(session, aggregate)
            wanted = [images.get_record(session, each, context) for each in image_ids]
            cells = host_mappings.cells_of_hosts(session)
        for image in (record.image for record in wanted):
            if image.status != ACTIVE:
                raise exception.Invalid(reason=f"image {image.id} is {image.status}, not {ACTIVE}")
        hosts = [(host, cells[host]) for host in found.hosts if host in cells]
        request = _Request(context, found, wanted, hosts)
        try:
            for _ in range(min(self._pool.size, len(hosts))):
                self._pool.submit(self._work_on, request)
        except (WorkerPoolFull, RuntimeError) as error:
            request.cancel()
            raise exception.Unavailable(reason=str(error)) from error
        self._notifier.cache_images(context, found, image_ids, "start")
        LOG.info(
            "Hosts of aggregate %s (%d) are to fetch images: %s",
            found.name, len(hosts), ", ".join(image_ids),
        )  # fmt: skip
        if not hosts:
            self._notifier.cache_images(context, found, image_ids, "end")

    def stop(self) -> None:
        """Ask no further hosts."""
        self._stopping.set()
        self._pool.shutdown(0.0)

    def _work_on(self, request: _Request) -> None:
        while (place := request.take()) is not None:
            if self._stopping.is_set():
                LOG.warning(
                    "Aggregate %s: this conductor stops, hosts that have not been asked to fetch "
                    "images: %d; send the request again",
                    request.aggregate.name, request.cancel() + 1,
                )  # fmt: skip
                return
            host, cell_uuid = place
            self._say(request, host, self._fetch_on(request, host, cell_uuid))

    def _fetch_on(self, request: _Request, host: str, cell_uuid: str) -> ImageFetches:
        """Have one host fetch the images; return how that ended."""
        until = self._clock() + self._conf.image_cache.precache_timeout_seconds
        context, wanted, unanswered = request.context, request.images, 0
        while True:
            try:
                tickets = self._new_tickets(request)
                found = self._cells.call(
                    cell_uuid,
                    lambda cell: cell.cache_images(context, host, wanted, tickets),  # noqa: B023
                )
            except exception.Unavailable as error:
                unanswered += 1
                if unanswered >= UNANSWERED_MAX:
                    return request.failed(error.message)
            except exception.ArmillaryError as error:
                return request.failed(error.message)
            else:
                unanswered = 0
                if not found.fetching:
                    return found
                if self._clock() >= until:
                    return _late(found)
            if self._stopping.wait(self._poll_seconds):
                return request.failed("the conductor stops; the host may continue")

    def _new_tickets(self, request: _Request) -> list[ImageTicket]:
        """Return tickets for all images: a host that has waited long needs new ones."""
        tickets = [self._tickets.ticket(record) for record in request.records]
        return [ticket for ticket in tickets if ticket is not None]

    def _say(self, request: _Request, host: str, found: ImageFetches) -> None:
        """Log and notify what became of the images on one host."""
        index = request.count()
        name = request.aggregate.name
        if found.failed:
            reasons = "; ".join(dict.fromkeys(found.failed.values()))
            LOG.warning(
                "Aggregate %s: host %s has %d of %d images: %s",
                name, host, len(found.cached), len(request.images), reasons,
            )  # fmt: skip
        else:
            LOG.info("Aggregate %s: host %s has the images", name, host)
        image_ids = [image.id for image in request.images]
        self._notifier.cache_images(
            request.context, request.aggregate, image_ids, "progress",
            host=host, cached=found.cached, failed=list(found.failed),
            index=index, total=request.total,
        )  # fmt: skip
        if index == request.total:
            self._notifier.cache_images(request.context, request.aggregate, image_ids, "end")


class _Request:
    """The hosts of one request that have not been asked, and how many have ended."""

    def __init__(
        self,
        context: RequestContext,
        aggregate: Aggregate,
        records: Sequence[ImageRecord],
        hosts: Sequence[tuple[str, str]],
    ) -> None:
        self.context = context
        self.aggregate = aggregate
        self.records = list(records)
        self.images = [_as_hosts_see(record.image) for record in records]
        self.total = len(hosts)
        self._lock = threading.Lock()
        self._left = collections.deque(hosts)
        self._ended = 0

    def take(self) -> tuple[str, str] | None:
        """Return the next host and its cell, None after the last one."""
        with self._lock:
            return self._left.popleft() if self._left else None

    def cancel(self) -> int:
        """Ask no further hosts; return how many are left."""
        with self._lock:
            left = len(self._left)
            self._left.clear()
        return left

    def count(self) -> int:
        """Note that a host has ended; return how many have."""
        with self._lock:
            self._ended += 1
            return self._ended

    def failed(self, reason: str) -> ImageFetches:
        """Return that no image is known to be on a host."""
        return ImageFetches(failed={image.id: reason for image in self.images})


def _late(found: ImageFetches) -> ImageFetches:
    reason = "not fetched within [image_cache] precache_timeout_seconds; the host continues"
    late = dict.fromkeys(found.fetching, reason)
    return ImageFetches(cached=found.cached, failed={**found.failed, **late})


def _as_hosts_see(image: ImageMeta) -> ImageMeta:
    """Return an image without what only a server that is built from it needs."""
    kept = {k: v for k, v in image.properties.items() if k not in PRIVATE_PROPERTIES}
    return image.with_values(properties=kept)
