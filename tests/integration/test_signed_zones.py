"""Two zones with all that can be asked of trust; and a child that lies.

Each has an authority of its own for signatures, and an account on its brokers for each role. The
parent reaches its own brokers and the child's by TLS; there are two authorities of that, too. The
child has no scheduler process: its super conductor decides.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from armillary import exception
from armillary.context import admin_context
from conductor.super_conductor.zones.interface import ZoneAPI, ZoneSummariesAPI
from objects.zones.zone_summary import ZoneSummary
from rpc.broker.broker_accounts import PARENT_ZONE, TOP
from rpc.signing.place import zone_scope
from rpc.transport import Bus
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.authority import Certificate, CertificateAuthority
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.interfaces import Anything
from tests.fixtures.services import POSTGRESQL
from tests.integration.accounts_deployment import AccountsDeployment
from tests.integration.signed_deployment import SignedDeployment
from tests.integration.zone_deployment import ZoneDeployment, tree

_CHUNK = 65536


class TlsDoor:
    """Ends TLS for who shows a certificate of ``clients``, and hands on to ``url``'s broker."""

    def __init__(self, url: str, mine: Certificate, clients: CertificateAuthority) -> None:
        self._url = make_url(url)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.verify_mode = ssl.CERT_REQUIRED
        self._context.load_verify_locations(clients.ca_file)
        self._context.load_cert_chain(mine.cert_file, mine.key_file)
        self.clients: set[str] = set()
        """The names that those had in their certificates who came in."""
        self._inside: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self.port: int = self._run(self._open())

    def url(self, url: str) -> str:
        """Return the way to the virtual host of a transport URL through this door."""
        there = make_url(url).set(host="127.0.0.1", port=self.port)
        return there.render_as_string(hide_password=False)

    def show(self, certificate: Certificate) -> None:
        """Show another certificate from now on, also to clients inside: they are disconnected."""
        self._run(self._show(certificate))

    def close(self) -> None:
        self._run(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(waiting.seconds(5))
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(waiting.seconds(10))

    async def _open(self) -> int:
        self._server = await asyncio.start_server(self._let_in, "127.0.0.1", 0, ssl=self._context)
        return int(self._server.sockets[0].getsockname()[1])

    async def _show(self, certificate: Certificate) -> None:
        self._context.load_cert_chain(certificate.cert_file, certificate.key_file)
        self._put_out()

    async def _close(self) -> None:
        self._server.close()
        self._put_out()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=waiting.seconds(5))

    def _put_out(self) -> None:
        for writer in self._inside:
            writer.transport.abort()

    async def _let_in(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.clients.add(_name(writer.get_extra_info("peercert")))
        there, back = await asyncio.open_connection(self._url.host, self._url.port or 5672)
        self._inside.add(writer)
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.ensure_future(_pump(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _task: self._inside.discard(writer))


def _name(shown: dict[str, Any]) -> str:
    return str(dict(pair[0] for pair in shown["subject"])["commonName"])


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()


pytestmark = [pytest.mark.rabbitmq, pytest.mark.postgresql, pytest.mark.long]

PATIENCE_SECONDS = 90.0
SHAPE = {
    "root": (None, ["name=root-h:vcpus=8:memory_mb=8192:disk_gb=100"]),
    "eu": ("root", ["name=eu-h:vcpus=64:memory_mb=262144:disk_gb=2000"]),
}
AT_THE_BORDER = {"conductor", "scheduler"}
"""The processes that speak to another zone."""


class SignedZone(SignedDeployment, AccountsDeployment, ZoneDeployment):
    """A zone whose processes sign, and whose lists its own authority writes, with own accounts.

    Clients from outside come through a proxy with TLS. The root's own processes do, too.
    """

    def __init__(self, folder, *, name, top_url, cell_url, options="", **arguments):
        folder.mkdir()
        self.certificates = CertificateAuthority(folder / "certificates", name)
        self.believed = folder / "believed.pem"
        self.believed.write_text(self.certificates.ca_file.read_text())
        self.doors = {}
        if SHAPE[name][0] is None:
            own = self._open_door("own", top_url, self.certificates)
            top_url, cell_url = own.url(top_url), own.url(cell_url)
            options += self._tls(self.certificates.issue(f"services-of-{name}"))
        super().__init__(
            folder / "zone", name=name, top_url=top_url, cell_url=cell_url, options=options,
            **arguments,
        )  # fmt: skip

    def _open_door(self, name, url, clients):
        door = self.doors[name] = TlsDoor(url, self.certificates.issue(f"{name}-door"), clients)
        return door

    def _tls(self, mine):
        return (
            "[oslo_messaging_rabbit]\nssl = true\n"
            f"ssl_ca_file = {self.believed}\n"
            f"ssl_cert_file = {mine.cert_file}\nssl_key_file = {mine.key_file}\n"
        )

    @property
    def border_url(self):
        url = self.url_for(self.top_url, PARENT_ZONE, TOP)
        return self.doors["border"].url(url)

    def let_in(self, parent):
        """Open the border to a parent, and have it believe this zone's authority."""
        self._open_door("border", self.top_url, parent.certificates)
        both = (parent.certificates, self.certificates)
        parent.believed.write_text("".join(one.ca_file.read_text() for one in both))

    def stop(self):
        super().stop()
        for door in self.doors.values():
            door.close()

    def at_the_border(self):
        found = self.authority.lists["services"].identities.values()
        return [one.name for one in found if one.role in AT_THE_BORDER]


def introduce(parent, child):
    """Let each put the other's processes on its list, as two operators do; open the border."""
    child.let_in(parent)
    for name in parent.at_the_border():
        child.authority.vouch_for(parent.authority, name, "parent_zone")
    for name in child.at_the_border():
        parent.authority.vouch_for(child.authority, name, "child_zone", child.name)
    parent.hand_out()
    child.hand_out()


@pytest.fixture(scope="module")
def zones(tmp_path_factory):
    folder = tmp_path_factory.mktemp("signed-zones")
    arguments = {"kind": SignedZone, "introduce": introduce, "in_process": frozenset({"eu"})}
    with tree(folder, POSTGRESQL, SHAPE, **arguments) as made:
        root = made["root"]
        wait_for(
            lambda: root.hosts_below() == {"eu": 1} and root.up_hosts() == 1,
            "the root has heard of all hosts", PATIENCE_SECONDS,
        )  # fmt: skip
        yield made


def test_a_server_is_built_shown_and_deleted_across_zones(zones):
    """Questions, orders, answers and summaries are signed by one zone and checked by the other."""
    root = zones["root"]
    (uuid,) = root.create_servers(root.create_flavor("small", vcpus=16, ram=512, disk=1), 1)
    shown = root.wait_for_status(uuid, "ACTIVE", "ERROR")
    assert (shown["status"], shown["armillary:zone"]) == ("ACTIVE", "eu")
    root.delete_servers(uuid)
    assert [line for zone in zones.values() for line in zone.refusals()] == []
    assert zones["eu"].doors["border"].clients == {"services-of-root"}


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
            messaging_conf(), child.top_url, lock_directory=tmp_path,
            signer=child.authority.signer(name, nonces=f"forged-{name}"), scope=zone_scope("eu"),
        )  # fmt: skip
        ZoneSummariesAPI(bus).update_summary(admin_context(), _a_summary(zone))
        wait_for(lambda: len(root.refusals()) > before, f"{name} is refused", 20)  # noqa: B023
        bus.close()
    assert root.hosts_below() == {"eu": 1}


def test_an_agents_key_opens_no_zone(zones, tmp_path):
    """The border knows whose key it is, and forbids each of its methods, whatever the account.

    What it answers is not believed either: no agent's list says that anybody serves zones.
    """
    child = zones["eu"]
    bus = Bus(
        messaging_conf(), child.url_for(child.top_url, PARENT_ZONE, TOP), lock_directory=tmp_path,
        signer=child.authority.signer("eu-agent", nonces="stolen"), scope=zone_scope("eu"),
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
