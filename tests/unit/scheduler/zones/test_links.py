"""Links to children over a broker that serialises: summaries come up, questions go down."""

import threading
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from objects.zones.zone_answer import ZoneAnswer
from objects.zones.zone_query import ZoneQuery
from objects.zones.zone_summary import ZoneSummary
from rpc.transport import Bus
from scheduler.zones.links import RpcLinks
from tests.builders import a_uuid
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.zones.zone_trees import Zone
from tests.fleets import some_hosts


class LocalZone:
    """A child's super conductor, as far as a parent's scheduler asks it."""

    def __init__(self, zone: Zone, bus: Bus) -> None:
        self._zone = zone
        self._parents = ZoneSummariesAPI(bus)
        self.is_open = threading.Event()
        self.is_open.set()

    def select_hosts(self, context: Any, query: ZoneQuery) -> ZoneAnswer:
        self.is_open.wait(5.0)
        return self._zone.search.answer(context, query)

    def refresh(self, context: Any) -> None:
        self._parents.update_summary(context, self._zone.summary())


class Deployment:
    """A child zone with a broker of its own, and a parent's links."""

    def __init__(self) -> None:
        self.leaf = Zone("leaf", some_hosts(3))
        self.root = Zone("root", some_hosts(1), [self.leaf])
        self.url = f"kombu+memory:////{uuid.uuid4()}"
        self.bus = Bus(self.leaf.conf, self.url)
        self.border = LocalZone(self.leaf, self.bus)
        self._server = an_rpc_server(self.bus, ZoneAPI, "border", self.border)
        self._server.start()
        self.taken: list[tuple[str, ZoneSummary]] = []
        self.made = 0
        self.links = RpcLinks(
            self.root.conf, self._make_bus, self._take, self.root.children.note_tried
        )

    def _make_bus(self, url: str, _scope: str) -> Bus:
        self.made += 1
        if url == "":
            raise ConnectionError("no such broker")
        return Bus(self.root.conf, url)

    def _take(self, name: str, summary: ZoneSummary) -> None:
        self.taken.append((name, summary))
        self.root.children.take(name, summary)

    def know(self, **values: Any) -> None:
        zone = {"uuid": a_uuid(), "name": "leaf", "transport_url": self.url, "disabled": False}
        self.links.set_known([{**zone, **values}])

    def ask(self) -> ZoneAnswer:
        query = self.root.query()
        return self.links.ask("leaf", admin_context(), query, 5.0).result(10)

    def close(self) -> None:
        self.links.close()
        self._server.stop()
        self._server.wait()
        self.bus.close()


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    made = Deployment()
    yield made
    made.close()


def test_a_new_link_asks_for_the_summary_and_takes_it(deployment: Deployment) -> None:
    """BZ-27, BZ-30: so a parent that has just started knows its children immediately."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    assert deployment.taken[0][0] == "leaf"
    assert dict(deployment.root.children.states()) == {"leaf": "online"}


def test_a_question_goes_down_and_an_answer_comes_up(deployment: Deployment) -> None:
    """BZ-11: through the child's broker alone."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    answer = deployment.ask()
    assert sorted(answer.host_ids) == sorted(host.uuid for host in deployment.leaf.hosts)


def test_the_child_is_asked_to_push_again(deployment: Deployment) -> None:
    """BZ-30: when an operator wants it."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    before = len(deployment.taken)
    deployment.links.refresh()
    wait_for(lambda: len(deployment.taken) > before, "it happens", 15)


def test_a_disabled_child_has_no_link(deployment: Deployment) -> None:
    """Nothing is connected."""
    deployment.know(disabled=True)
    with pytest.raises(exception.ZoneUnavailable):
        deployment.ask()
    assert deployment.made == 0


def test_a_link_is_kept_while_its_child_stays(deployment: Deployment) -> None:
    """BZ-14: others come and go."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    deployment.know()
    assert deployment.made == 1


def test_a_child_that_moved_gets_another_link(deployment: Deployment) -> None:
    """To its other broker, which has no server."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    deployment.know(transport_url=f"kombu+memory:////{uuid.uuid4()}")
    wait_for(lambda: deployment.made == 2, "it happens", 15)


def test_a_broker_that_is_away_delays_no_other(deployment: Deployment) -> None:
    """BZ-65: its zone is not connected, and that is said immediately."""
    deployment.know(transport_url="")
    wait_for(lambda: deployment.made, "it happens", 15)
    with pytest.raises(exception.ZoneUnavailable, match="not connected"):
        deployment.ask()


def test_a_summary_in_anothers_name_is_dropped(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """BZ-62: and logged."""
    deployment.know()
    wait_for(lambda: deployment.taken, "it happens", 15)
    ZoneSummariesAPI(deployment.bus).update_summary(
        admin_context(), deployment.leaf.summary().with_values(zone="other")
    )
    wait_for(lambda: "Dropped an invalid summary" in caplog.text, "it happens", 15)
