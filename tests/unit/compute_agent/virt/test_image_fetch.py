"""Fetches that several builds wait for, whose servers are deleted meanwhile, or that fail."""

import concurrent.futures
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from armillary import exception
from compute_agent.virt.image_fetch import ImageFetches, IsStopped
from tests.fixtures.asking import wait_for

IMAGE = "image"
SECONDS_MAX = 60


class Service:
    """Image service that does not answer until a test says how it ends."""

    def __init__(self) -> None:
        self.begun: list[IsStopped] = []
        self.may_end = threading.Event()
        self.error: Exception | None = None

    def run(self, is_stopped: IsStopped) -> bool:
        self.begun.append(is_stopped)
        assert self.may_end.wait(SECONDS_MAX)
        if self.error is not None and len(self.begun) == 1:
            raise self.error
        return True


class Builds:
    """Builds of a host that need the image."""

    def __init__(self, pool: concurrent.futures.Executor) -> None:
        self._pool = pool
        self.service = Service()
        self.deleted: set[str] = set()
        self.fetches = ImageFetches(lambda uuid: uuid not in self.deleted)

    def begin(self, uuid: str) -> Future[bool]:
        """Let a build wait for the image."""
        before = self._waiting()
        future = self._pool.submit(self.fetches.join, IMAGE, uuid, self.service.run)
        wait_for(lambda: self._waiting() > before, "the build waits")
        return future

    def _waiting(self) -> int:
        fetch = self.fetches._under_way.get(IMAGE)
        return 0 if fetch is None else fetch.waiting


@pytest.fixture
def builds() -> Iterator[Builds]:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        made = Builds(pool)
        yield made
        made.service.may_end.set()


def test_an_image_is_fetched_once_for_all_builds(builds: Builds) -> None:
    futures = [builds.begin(uuid) for uuid in "abc"]
    builds.service.may_end.set()
    assert [future.result(SECONDS_MAX) for future in futures] == [True] * 3
    assert len(builds.service.begun) == 1


def test_a_failure_is_that_of_all_builds(builds: Builds) -> None:
    """They do not wait for the same failure one after the other."""
    builds.service.error = exception.Unavailable(reason="away")
    futures = [builds.begin(uuid) for uuid in "ab"]
    builds.service.may_end.set()
    for future in futures:
        with pytest.raises(exception.Unavailable, match="away"):
            future.result(SECONDS_MAX)
    assert len(builds.service.begun) == 1


def test_what_one_instance_may_not_read_is_read_for_another(builds: Builds) -> None:
    builds.service.error = exception.Forbidden(reason="not yours")
    first, second = builds.begin("a"), builds.begin("b")
    builds.service.may_end.set()
    with pytest.raises(exception.Forbidden):
        first.result(SECONDS_MAX)
    assert second.result(SECONDS_MAX)


def test_a_delete_ends_a_build_whose_image_service_is_stalled(builds: Builds) -> None:
    """Immediately; the fetch is dropped, and a later build begins another."""
    first = builds.begin("a")
    builds.deleted.add("a")
    with pytest.raises(exception.Unavailable, match="is deleted meanwhile"):
        first.result(SECONDS_MAX)
    (is_stopped,) = builds.service.begun
    assert is_stopped()
    builds.begin("b")
    assert len(builds.service.begun) == 2


def test_a_delete_leaves_the_fetch_to_the_other_builds(builds: Builds) -> None:
    first, second = builds.begin("a"), builds.begin("b")
    builds.deleted.add("a")
    with pytest.raises(exception.Unavailable):
        first.result(SECONDS_MAX)
    assert not builds.service.begun[0]()
    builds.service.may_end.set()
    assert second.result(SECONDS_MAX)
    assert len(builds.service.begun) == 1


def test_a_fetch_in_advance_is_for_no_instance(builds: Builds) -> None:
    builds.service.may_end.set()
    assert builds.fetches.join(IMAGE, None, builds.service.run)
