"""Three zones with all that can be asked of trust; and a child that lies.

See ``trusted_zones``: signatures, accounts and TLS together. The zone in the middle is a child of
one and the parent of another. The lowest has no scheduler process: its super conductor decides.
"""

from datetime import UTC, datetime

import pytest

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from objects.zones.zone_summary import ZoneSummary
from rpc.broker.broker_accounts import PARENT_ZONE, TOP
from rpc.signing.place import zone_scope
from rpc.transport import Bus
from tests.fixtures.asking import wait_for
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.messages.interfaces import Anything
from tests.fixtures.services import POSTGRESQL
from tests.fixtures.signing.authority import CertificateAuthority
from tests.integration.trust.trusted_zones import SignedZone, introduce
from tests.integration.zones.zone_deployment import tree

pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

PATIENCE_SECONDS = 90.0
SHAPE = {
    "root": (None, ["name=root-h:vcpus=8:memory_mb=8192:disk_gb=100"]),
    "eu": ("root", ["name=eu-h:vcpus=64:memory_mb=262144:disk_gb=2000"]),
    "eu-1": ("eu", ["name=eu-1-h:vcpus=128:memory_mb=65536:disk_gb=200"]),
}


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed-zones")
    arguments = {"kind": SignedZone, "introduce": introduce, "in_process": frozenset({"eu-1"})}
    with tree(folder, POSTGRESQL, SHAPE, **arguments) as made:
        root = made["root"]
        wait_for(
            lambda: (root.hosts_below(), root.vcpus_below(), root.up_hosts())
            == ({"eu": 2}, {"eu": 128}, 1),
            "the root knows all hosts", PATIENCE_SECONDS,
        )  # fmt: skip
        yield made


@pytest.mark.parametrize(
    ("zone", "size"),
    [("eu", {"vcpus": 16, "disk": 500}), ("eu/eu-1", {"vcpus": 100, "disk": 1})],
    ids=["child", "grandchild"],
)
def test_a_server_is_built_shown_and_deleted_across_zones(zones, zone, size):
    """Questions, orders, answers and summaries are signed by one zone and checked by the next."""
    root = zones["root"]
    (uuid,) = root.create_servers(root.create_flavor(f"for-{zone}", ram=512, **size), 1)
    shown = root.wait_for_status(uuid, "ACTIVE", "ERROR")
    assert (shown["status"], shown["armillary:zone"]) == ("ACTIVE", zone)
    root.act(uuid, "os-stop")
    root.wait_for_status(uuid, "SHUTOFF")
    root.delete_servers(uuid)
    assert [line for one in zones.values() for line in one.refusals()] == []
    assert zones["eu"].doors["border"].clients == {"services-of-root"}
    assert zones["eu-1"].doors["border"].clients == {"services-of-eu"}


def test_a_border_of_another_authority_is_not_believed(zones, tmp_path):
    """Nothing is sent to it; requests go on without that zone until it has its own again."""
    root, door = zones["root"], zones["eu"].doors["border"]
    small = root.create_flavor("tiny", vcpus=1, ram=64, disk=0)
    door.show(CertificateAuthority(tmp_path / "stranger").issue("stranger"))
    before = set(door.clients)
    door.clients.clear()
    wait_for(lambda: root.zone_states() == {"eu": "stale"}, "eu is out of reach", PATIENCE_SECONDS)
    for process in ("super", "scheduler-1"):
        log = root.processes[process].log
        wait_for(lambda: "certificate verify failed" in log.read_text(), process, 30)  # noqa: B023
    (uuid,) = root.create_servers(small, 1)
    server = root.wait_for_status(uuid, "ACTIVE", "ERROR")
    assert (server["status"], server["armillary:zone"]) == ("ACTIVE", "")
    assert door.clients == set()
    door.show(zones["eu"].certificates.issue("renewed"))
    wait_for(lambda: root.zone_states() == {"eu": "online"}, "it is believed", PATIENCE_SECONDS)
    assert door.clients == before
    root.request("DELETE", f"/servers/{uuid}")


def test_a_child_speaks_for_itself_only(zones, tmp_path):
    """Its key signs a summary of another zone, and an agent's key one of its own: both refused."""
    root, child = zones["root"], zones["eu"]
    for name, zone in (("super", "us"), ("eu-agent", "eu")):
        before = len(root.refusals())
        bus = Bus(
            messaging_conf(), child.plain_top_url, lock_directory=tmp_path,
            message_signer=child.authority.signer(name, nonces=f"forged-{name}"),
            scope=zone_scope("eu"),
        )  # fmt: skip
        ZoneSummariesAPI(bus).update_summary(admin_context(), _a_summary(zone))
        wait_for(lambda: len(root.refusals()) > before, f"{name} is refused", 20)  # noqa: B023
        bus.close()
    assert root.hosts_below() == {"eu": 2}


def test_an_agents_key_opens_no_zone(zones, tmp_path):
    """The border knows whose key it is, and forbids each of its methods, whatever the account.

    What it answers is not believed either: no agent's list says that anybody serves zones.
    """
    child = zones["eu"]
    bus = Bus(
        messaging_conf(), child.url_for(child.plain_top_url, PARENT_ZONE, TOP),
        lock_directory=tmp_path,
        message_signer=child.authority.signer("eu-agent", nonces="stolen"), scope=zone_scope("eu"),
    )  # fmt: skip
    before = len(child.refusals())
    for method in ZoneAPI.METHODS:
        with pytest.raises(exception.RpcAnswerRefused):
            Anything(bus, ZoneAPI, timeout_seconds=2).call(method, path=[], agent="eu-agent")
    bus.close()
    assert len(child.refusals()) == before + len(ZoneAPI.METHODS)


def _a_summary(zone):
    return ZoneSummary.from_values(
        zone=zone,
        sender="forger",
        seq=2**60,
        sent_at=datetime.now(UTC),
        push_seconds=3600.0,
        depth=1,
        capabilities={"attributes": {}, "hosts": 1000},
        counts={"hosts": 1000, "hosts_up": 1000},
    )
