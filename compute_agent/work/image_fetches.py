"""Images that hosts fetch because an operator asked for it, before a server is built from them."""

from __future__ import annotations

import collections
import logging
import threading
from collections.abc import Callable, Mapping, Sequence

from armillary import exception
from armillary.concurrency import WorkerPool, WorkerPoolFull
from armillary.context import RequestContext
from compute_agent.virt.driver import ComputeDriver, Feature
from compute_agent.work.image_tickets import ImageTickets
from objects.hosts.image_fetches import ImageFetches
from objects.images.image_meta import ImageMeta
from objects.images.image_ticket import ImageTicket

LOG = logging.getLogger(__name__)

REQUESTS_MAX = 100
"""Maximum number of requests that wait, and whose results are kept."""


class ImageFetcher:
    """Fetches the images of one request after the other, in a thread of its own.

    A request is known by its id and host, so asking again returns how far it is. ``on_fetched`` is
    called with the host after each image.
    """

    def __init__(
        self,
        agent: str,
        drivers: Mapping[str, ComputeDriver],
        tickets: ImageTickets,
        on_fetched: Callable[[str], None],
    ) -> None:
        self._drivers = drivers
        self._tickets = tickets
        self._on_fetched = on_fetched
        self._pool = WorkerPool(1, f"{agent}-images", queue_size_max=REQUESTS_MAX)
        self._lock = threading.Lock()
        self._requests: collections.OrderedDict[tuple[str, str], _Request] = (
            collections.OrderedDict()
        )

    def ask(
        self,
        context: RequestContext,
        host: str,
        images: Sequence[ImageMeta],
        tickets: Sequence[ImageTicket],
    ) -> ImageFetches:
        """Begin to fetch images, or return how far a host is with them; then tickets are renewed.

        Raises HostNotFound, OperationUnsupported, Unavailable with too many requests.
        """
        driver = self._drivers.get(host)
        if driver is None:
            raise exception.HostNotFound(host=host)
        if Feature.IMAGE_CACHE not in driver.features:
            raise exception.OperationUnsupported(
                host=host, operation=Feature.IMAGE_CACHE.value,
                reason="its driver keeps no images",
            )  # fmt: skip
        key = host, context.request_id
        with self._lock:
            request = self._requests.get(key)
            if request is None:
                request = _Request(images)
                self._tickets.give(host, tickets)
                try:
                    self._pool.submit(self._run, driver, request)
                except (WorkerPoolFull, RuntimeError) as error:
                    raise exception.Unavailable(reason=str(error)) from error
                self._requests[key] = request
                self._forget_ended()
            else:
                waiting = set(request.waiting)
                self._tickets.give(host, [each for each in tickets if each.image_id in waiting])
            return request.state()

    def stop(self, wait_seconds: float) -> None:
        """Begin nothing more; what is being fetched is fetched again when a build needs it."""
        self._pool.shutdown(wait_seconds)

    def _forget_ended(self) -> None:
        ended = [key for key, request in self._requests.items() if not request.waiting]
        for key in ended[: max(0, len(self._requests) - REQUESTS_MAX)]:
            del self._requests[key]

    def _run(self, driver: ComputeDriver, request: _Request) -> None:
        for image in request.images:
            reason = self._failure(driver, image)
            with self._lock:
                request.waiting.remove(image.id)
                if reason is not None:
                    request.failed[image.id] = reason
                self._tickets.withdraw(driver.host, image.id)
            self._on_fetched(driver.host)

    @staticmethod
    def _failure(driver: ComputeDriver, image: ImageMeta) -> str | None:
        """Have an image on a host; return why that failed, None if it is there."""
        try:
            driver.cache_image(image)
        except exception.ArmillaryError as error:
            reason = error.message
        except OSError as error:
            reason = str(error)
        except Exception as error:
            LOG.exception("Image %s cannot be fetched on host %s", image.id, driver.host)
            return type(error).__name__
        else:
            return None
        LOG.warning("Image %s cannot be fetched on host %s: %s", image.id, driver.host, reason)
        return reason


class _Request:
    """The images that a host was asked to fetch, and what became of them."""

    def __init__(self, images: Sequence[ImageMeta]) -> None:
        self.images = images
        self.waiting = [image.id for image in images]
        self.failed: dict[str, str] = {}

    def state(self) -> ImageFetches:
        """Return a copy of the state."""
        ended = [image.id for image in self.images if image.id not in self.waiting]
        return ImageFetches(
            cached=[each for each in ended if each not in self.failed],
            fetching=list(self.waiting),
            failed=dict(self.failed),
        )
