"""The scheduler's client among schedulers of another age."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

import rpc
from armillary.context import RequestContext, admin_context
from objects.destinations import Destinations
from objects.request_spec import RequestSpec
from rpc.transport import Bus
from scheduler.drivers.chance_scheduler import ChanceScheduler
from scheduler.interface import SchedulerAPI
from tests.builders import a_uuid, an_aggregate
from tests.fixtures.drivers import a_driver_of
from tests.fleets import a_request_spec, scheduling_conf, some_hosts


class OlderScheduler:
    """One that came before 1.1: it takes RequestSpec 1.0 and has none of the newer methods."""

    def __init__(self) -> None:
        self.specs: list[RequestSpec] = []

    @rpc.expose
    def select_destinations(
        self,
        context: RequestContext,
        request_spec: RequestSpec,
        instance_uuids: list[str],
        fences: list[int],
        return_alternates: bool,
        dry_run: bool,
    ) -> Destinations:
        self.specs.append(request_spec)
        driver = a_driver_of(ChanceScheduler, some_hosts(2))
        return driver.select_destinations(
            context, request_spec, instance_uuids, fences=fences,
            return_alternates=return_alternates, dry_run=dry_run,
        )  # fmt: skip


class WatchedBus(Bus):
    """Notes the version of what is sent on it."""

    sent: list[str]

    def client(self, topic: str, **options: Any) -> Any:
        return _WatchedClient(super().client(topic, **options), self.sent)


class _WatchedClient:
    def __init__(self, client: Any, sent: list[str], version: str = "") -> None:
        self._client, self._sent, self._version = client, sent, version

    def prepare(self, **options: Any) -> _WatchedClient:
        return _WatchedClient(self._client.prepare(**options), self._sent, options["version"])

    def can_send_version(self, version: str) -> bool:
        can_send: bool = self._client.can_send_version(version)
        return can_send

    def call(self, *arguments: Any, **named: Any) -> Any:
        self._sent.append(self._version)
        return self._client.call(*arguments, **named)

    def cast(self, *arguments: Any, **named: Any) -> None:
        self._sent.append(self._version)
        self._client.cast(*arguments, **named)


@pytest.fixture
def bus() -> Iterator[WatchedBus]:
    bus = WatchedBus(scheduling_conf(), f"kombu+memory:////{uuid.uuid4()}")
    bus.sent = []
    yield bus
    bus.close()


@pytest.fixture
def older(bus: Bus) -> Iterator[OlderScheduler]:
    endpoint = OlderScheduler()
    server = bus.server(SchedulerAPI.TOPIC, "older", [endpoint], version="1.0")
    server.start()
    yield endpoint
    server.stop()
    server.wait()


def test_an_older_scheduler_is_asked_in_its_own_words(
    bus: WatchedBus, older: OlderScheduler
) -> None:
    """Under a cap the request is that of 1.0, and the answer is as good as any."""
    api = SchedulerAPI(bus, version_cap="1.0", timeout_seconds=20)
    found = api.select_destinations(admin_context(), a_request_spec(), [a_uuid()], fences=[1])
    assert len(found.selections()) == 1
    assert [spec.VERSION for spec in older.specs] == ["1.0"]
    assert bus.sent == ["1.0"]


def _small_news(api: SchedulerAPI) -> None:
    context, hosts = admin_context(), {"host1": [a_uuid()]}
    api.update_aggregates(context, [an_aggregate()], seq=2)
    api.delete_aggregate(context, a_uuid(), seq=3)
    api.update_instance_info(context, hosts)
    api.delete_instance_info(context, hosts)
    api.sync_instance_info(context, hosts)


@pytest.mark.parametrize(("cap", "sent"), [("1.0", []), ("1.1", ["1.1"] * 5), (None, ["1.1"] * 5)])
def test_small_news_are_for_schedulers_that_take_them(
    bus: WatchedBus, cap: str | None, sent: list[str]
) -> None:
    """An older one has the pushed states and facts."""
    _small_news(SchedulerAPI(bus, version_cap=cap))
    assert bus.sent == sent
