"""A service whose messages are signed, on the embedded broker; and forged messages to it."""

import threading
import uuid

import oslo_messaging
import prometheus_client
import pytest

from armillary import exception
from armillary.context import admin_context
from rpc.callers import AGENT_ITSELF, CELL_HERE, CONDUCTOR, SCHEDULER
from rpc.interface import Interface, call, cast, fanout
from rpc.signing.place import TOP
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.checks.audit_log import events_of
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.signing import AT_THE_TOP, AUDIT_LOG, Authority


class Ledger:
    """An endpoint under the names of placement's and the cell conductor's methods."""

    def __init__(self):
        self.heard = []
        self.changed = threading.Condition()

    def claim(self, context, claims):
        with self.changed:
            self.heard.append((claims, context.request_id))
            self.changed.notify_all()
        if claims == "too much":
            raise exception.CapacityExceeded(reason="nothing is left")
        if claims == "another's":
            raise exception.NotItsOwn("it belongs to another")
        return f"claimed {claims}"

    def claim_everywhere(self, context, claims):
        self.claim(context, claims)

    def build_failed(self, context, agent, host):
        self.heard.append(agent)
        return "noted"

    def claims(self):
        return [claims for claims, _request_id in self.heard]

    def wait_for(self, claims):
        with self.changed:
            assert self.changed.wait_for(lambda: claims in self.claims(), 10)


class LedgerAPI(Interface):
    TOPIC = "placement"
    SERVED_BY = "placement"

    @call(SCHEDULER, CONDUCTOR)
    def claim(self, context, claims): ...

    @fanout(SCHEDULER)
    def claim_everywhere(self, context, claims): ...


class LedgerOfAPI(Interface):
    """The same, by name."""

    TOPIC = "placement"
    SERVED_BY = "placement"
    ADDRESSED_BY = "server"

    @cast(SCHEDULER)
    def claim(self, context, server, claims): ...


class CellAPI(Interface):
    TOPIC = "cell_conductor"
    SERVED_BY = "cell_conductor"

    @call(AGENT_ITSELF)
    def build_failed(self, context, agent, host): ...


class AgentAPI(Interface):
    TOPIC = "compute"
    SERVED_BY = "compute"
    ADDRESSED_BY = "agent"

    @call(CELL_HERE)
    def claim(self, context, agent, claims): ...


class HostStatesAPI(Interface):
    TOPIC = "host_states"
    SERVED_BY = "cell_conductor"


class PlacementAPI:
    """A client in fewer words."""

    def __init__(self, bus, **options):
        self._api = LedgerAPI(bus, **options)
        self._by_name = LedgerOfAPI(bus, **options)

    def claim(self, claims):
        return self._api.claim(admin_context(), claims)

    def claim_everywhere(self, claims):
        self._api.claim_everywhere(admin_context(), claims)

    def claim_at(self, server, claims):
        self._by_name.claim(admin_context(), server, claims)


@pytest.fixture
def authority(tmp_path):
    made = Authority(tmp_path / "authority")
    for role in ("placement", "scheduler", "conductor", "cell_conductor", "compute"):
        made.enrol(role)
    return made


@pytest.fixture
def url():
    return f"kombu+memory:////{uuid.uuid4()}"


@pytest.fixture
def make_bus(url):
    buses = []

    def make(signer=None, scope=TOP):
        buses.append(Bus(messaging_conf(), url, message_signer=signer, scope=scope))
        return buses[-1]

    yield make
    for bus in buses:
        bus.close()


@pytest.fixture
def serve(make_bus):
    servers = []

    def start(signer=None, *, interface=LedgerAPI, name="one", scope=TOP):
        endpoint = Ledger()
        server = make_bus(signer, scope).server(interface, name, [endpoint])
        server.start()
        servers.append(server)
        return endpoint

    yield start
    for server in servers:
        server.stop()
        server.wait()


def refused(topic, reason):
    """Return how often this process refused a message for this reason."""
    labels = {"topic": topic, "reason": reason}
    found = prometheus_client.REGISTRY.get_sample_value("armillary_rpc_refused_total", labels)
    return found or 0.0


def wait_for_refusals(topic, reason, expected):
    """Wait for the count: messages are handled side by side, so the last may overtake."""
    wait_for(lambda: refused(topic, reason) >= expected, f"{expected} refusals", 10, 0.005)
    assert refused(topic, reason) == expected


def wait_for_events(authority, count):
    """Return the audit log's events once there are as many, or more."""
    path = authority.directory / AUDIT_LOG
    wait_for(
        lambda: path.exists() and path.read_text().count("\n") >= count,
        f"{count} events",
        10,
        0.005,
    )
    return events_of(path)


def send_raw(bus, signed, *, server=None, topic="placement"):
    """Put a message on the wire as it is, as any client with an account on the broker can."""
    target = oslo_messaging.Target(topic=topic, server=server, version="1.0")
    bus.transport._send(target, {}, signed)


def signed_claim(
    signer, claims="forged", *, topic="placement", server=None, fanout=None, place=AT_THE_TOP
):
    target = oslo_messaging.Target(topic=topic, server=server, fanout=fanout)
    message = {"method": "claim", "args": {"claims": claims}, "version": "1.0"}
    return signer.request(place, target, admin_context().to_dict(), message)[0]
