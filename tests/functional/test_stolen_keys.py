"""Each method of each service, tried with the key of each role on running services."""

from collections.abc import Iterator
from typing import Any

import pytest

from armillary import exception
from conductor.super_conductor.interface import SuperConductorAPI
from objects.hosts.host_states import HostStateBatch
from rpc.signing.trust import SCOPED
from scheduler.interface import SchedulerAPI
from tests.builders import a_uuid
from tests.fixtures.asking import wait_for
from tests.fixtures.messages.interfaces import BY_TOPIC, Anything
from tests.functional.scoped_attacks import ATTACKS, CONTEXT, HARMLESS, Victim
from tests.functional.signed_system import (
    CELL,
    HOST,
    PROGRAMS,
    STOLEN,
    SignedSystem,
    refusals,
    signed_system,
)

pytestmark = pytest.mark.sampled_file(every=3)

KEYS = {name: role for name, (role, _scope) in (PROGRAMS | STOLEN).items()}
SERVED = {topic: interface for topic, interface in BY_TOPIC.items() if topic != "zone_summaries"}
"""What a zone that has no children serves."""
HEARS_AGENTS = {"cell_conductor", "conductor", "host_states", "zone"}
SERVERS = {"compute": HOST, "host_states": CELL}
SECONDS_MAX = 30.0
OTHERS = {"cell_conductor": "other-cell", "compute": "other-agent", "parent_zone": "parent"}


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SignedSystem]:
    with signed_system(tmp_path_factory.mktemp("signed")) as running:
        yield running


@pytest.fixture(scope="module")
def victim(system: SignedSystem) -> Victim:
    image = system.upload_image("disk", b"data of another project", img_hv_type="simulated")
    flavor = system.create_flavor("small", vcpus=1, ram=512)
    (server,) = system.create_servers(flavor, 1, imageRef=image)
    assert system.settled([server])[server]["status"] == "ACTIVE"
    (provider,) = system.allocations()[server]
    return Victim(server, provider, image)


@pytest.mark.sampled(every=4)
@pytest.mark.parametrize("name", [*KEYS, None])
def test_each_role_is_refused_every_method_that_does_not_name_it(
    system: SignedSystem, name: str | None
) -> None:
    """Keys of other cells and agents, too, and messages without a key: all is as declared."""
    for topic, interface in SERVED.items():
        role = None if name is None else KEYS[name]
        tried = [
            method.name
            for method in interface.METHODS.values()
            if role not in {caller.role for caller in method.callers}
        ]
        is_known = role != "compute" or topic in HEARS_AGENTS
        reason = "unsigned" if name is None else "unauthorized" if is_known else "unknown_key"
        before = refusals(topic, reason)
        attacker = Anything(system.bus(interface, name), interface)
        for method in tried:
            attacker.cast(method, SERVERS.get(topic))
        wait_for(
            lambda: refusals(topic, reason) >= before + len(tried),  # noqa: B023
            f"each of {len(tried)} methods of {topic} refuses {name}", SECONDS_MAX,
        )  # fmt: skip


def test_a_role_with_a_scope_is_refused_that_of_another(system: SignedSystem) -> None:
    """In every method whose declaration says which argument names it."""
    scopes = {"cell_conductor": CELL, "compute": HOST}
    for topic, interface in SERVED.items():
        for method in interface.METHODS.values():
            for caller in method.callers:
                if caller.argument is None or caller.role not in scopes:
                    continue
                another = scopes[caller.role]
                value: Any = another
                if caller.field is not None:
                    value = HostStateBatch.from_values(cell_uuid=another, first_seq=0, last_seq=1)
                attacker = Anything(system.bus(interface, OTHERS[caller.role]), interface)
                with pytest.raises(exception.Forbidden, match="is about another one"):
                    attacker.call(method.name, SERVERS.get(topic), **{caller.argument: value})


@pytest.mark.parametrize(
    ("role", "interface", "method"),
    [(*key, method) for key, attacks in ATTACKS.items() for method in attacks],
    ids=lambda value: getattr(value, "TOPIC", value),
)
def test_what_is_another_s_is_neither_changed_nor_shown(
    system: SignedSystem, victim: Victim, role: str, interface: type[Any], method: str
) -> None:
    """With the key of another agent or another cell's conductor, in methods that it may call."""
    bus, attack = system.bus(interface, OTHERS[role]), ATTACKS[role, interface][method]
    api = Anything(bus, interface) if interface is SchedulerAPI else interface(bus)
    if isinstance(attack.outcome, type):
        with pytest.raises(attack.outcome):
            attack.call(api, victim)
    else:
        assert attack.call(api, victim) == attack.outcome
    assert_unharmed(system, victim)


BINARIES = {
    "api": "armillary-api",
    "conductor": "armillary-conductor",
    "placement": "armillary-placement",
    "scheduler": "armillary-scheduler",
}
"""Role -> the service whose heartbeats it may send."""


@pytest.mark.parametrize("role", ["api", "placement", "scheduler"])
def test_a_stolen_key_sends_no_heartbeat_of_another_service(
    system: SignedSystem, role: str
) -> None:
    """A dead one would be shown as up, or messages to all be limited to what an old one knows."""
    api = SuperConductorAPI(system.bus(SuperConductorAPI, role))
    for binary in BINARIES.values():
        if binary == BINARIES[role]:
            api.report_service(CONTEXT, HOST, binary, service_version=1)
            continue
        with pytest.raises(exception.NotItsOwn, match=f"the role {role}"):
            api.report_service(CONTEXT, "forged", binary, service_version=1)
    assert "forged" not in {each["host"] for each in system.get("/os-services")["services"]}


def test_a_stolen_schedulers_key_maps_no_host(system: SignedSystem) -> None:
    """Neither a name nor a node that another cell is to have."""
    api = SuperConductorAPI(system.bus(SuperConductorAPI, "scheduler"))
    coming, node = a_uuid(), a_uuid()
    assert api.map_hosts(CONTEXT, CELL, {HOST: [node], "coming": [coming]}) == sorted(
        [coming, node]
    )
    assert system.up_hosts() == 1


def assert_unharmed(system: SignedSystem, victim: Victim) -> None:
    shown = system.get(f"/servers/{victim.server}")["server"]
    assert (shown["status"], shown["OS-EXT-STS:task_state"]) == ("ACTIVE", None)
    assert shown["OS-EXT-SRV-ATTR:host"] == HOST
    assert "192.0.2.66" not in str(shown["addresses"])
    assert list(system.allocations()[victim.server]) == [victim.provider]
    (service,) = system.get("/os-services", binary="armillary-compute")["services"]
    assert [service[name] for name in ("host", "state", "status")] == [HOST, "up", "enabled"]


def test_the_host_serves_on_after_all(system: SignedSystem, victim: Victim) -> None:
    """The scheduler still finds it, and knows of its room."""
    assert system.up_hosts() == 1
    (server,) = system.create_servers(system.create_flavor("next", vcpus=1, ram=256), 1)
    assert system.settled([server])[server]["status"] == "ACTIVE"


def test_each_method_of_a_role_with_a_scope_is_attacked() -> None:
    """A new one has to be named among the attacks."""
    declared = {
        (caller.role, interface, method.name)
        for interface in SERVED.values()
        for method in interface.METHODS.values()
        for caller in method.callers
        if caller.role in SCOPED and not caller.is_local and method.name not in HARMLESS
    }
    assert declared == {(*key, method) for key, attacks in ATTACKS.items() for method in attacks}
