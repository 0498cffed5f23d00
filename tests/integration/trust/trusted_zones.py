"""Zones with all that can be asked of trust: signatures, an account for each role, TLS everywhere.

Each zone has an authority of its own for signatures, and one for TLS: its own services and its
parent's come to its brokers through proxies that end TLS. Zones with one of these are here, too.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from rpc.broker.broker_accounts import PARENT_ZONE, TOP
from rpc.transport import Bus
from tests.fixtures import waiting
from tests.fixtures.configuration import messaging_conf
from tests.fixtures.signing.authority import Certificate, CertificateAuthority
from tests.integration.trust.accounts_deployment import AccountsDeployment
from tests.integration.trust.signed_deployment import SignedDeployment
from tests.integration.zones.zone_deployment import ZoneDeployment

_CHUNK = 65536
_AT_THE_BORDER = {"conductor", "scheduler"}
"""The roles that speak to another zone."""


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


def tls_options(believed: Path, mine: Certificate) -> str:
    """Return the options of a service that reaches its brokers by TLS alone."""
    return (
        "[oslo_messaging_rabbit]\nssl = true\n"
        f"ssl_ca_file = {believed}\n"
        f"ssl_cert_file = {mine.cert_file}\nssl_key_file = {mine.key_file}\n"
    )


def _name(shown: dict[str, Any]) -> str:
    return str(dict(pair[0] for pair in shown["subject"])["commonName"])


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
    sink.close()


class AccountsZone(AccountsDeployment, ZoneDeployment):
    """A zone with an account for each role on its brokers, and one for its parent."""

    @property
    def border_url(self) -> str:
        return self.url_for(self.top_url, PARENT_ZONE, TOP)

    def inside(self, lock_directory: Path) -> Bus:
        """Return a bus on the top broker, with the account of the zone's API."""
        url = self.url_for(self.top_url, "api", TOP)
        return Bus(messaging_conf(), url, lock_directory=lock_directory)


class TlsZone(ZoneDeployment):
    """A zone whose brokers are reached by TLS alone."""

    def __init__(
        self, folder: Path, *, name: str, top_url: str, cell_url: str, options: str = "",
        **arguments: Any,
    ) -> None:  # fmt: skip
        folder.mkdir()
        self.certificates = CertificateAuthority(folder / "certificates", name)
        self.believed = folder / "believed.pem"
        self.believed.write_text(self.certificates.ca_file.read_text())
        self.doors: dict[str, TlsDoor] = {}
        self.plain_top_url = top_url
        own = self._open_door("own", self.certificates)
        super().__init__(
            folder / "zone", name=name, top_url=own.url(top_url), cell_url=own.url(cell_url),
            options=options
            + tls_options(self.believed, self.certificates.issue(f"services-of-{name}")),
            **arguments,
        )  # fmt: skip

    def _open_door(self, name: str, clients: CertificateAuthority) -> TlsDoor:
        mine = self.certificates.issue(f"{name}-door")
        door = self.doors[name] = TlsDoor(self.plain_top_url, mine, clients)
        return door

    @property
    def border_url(self) -> str:
        return self.doors["border"].url(super().border_url)

    def let_in(self, parent: TlsZone) -> None:
        """Open the border to a parent, and have it believe this zone's authority."""
        self._open_door("border", parent.certificates)
        both = (parent.certificates, self.certificates)
        parent.believed.write_text("".join(one.ca_file.read_text() for one in both))

    def inside(self, lock_directory: Path) -> Bus:
        """Return a bus on the top broker, without TLS."""
        return Bus(messaging_conf(), self.plain_top_url, lock_directory=lock_directory)

    def stop(self) -> None:
        super().stop()
        for door in self.doors.values():
            door.close()


class KeysZone(SignedDeployment, ZoneDeployment):
    """A zone whose processes sign, and have one account and no TLS."""

    def inside(self, lock_directory: Path) -> Bus:
        """Return a bus on the top broker, with the key of the zone's API."""
        signer = self.authority.signer("api", nonces="inside")
        return Bus(
            messaging_conf(), self.top_url, lock_directory=lock_directory, message_signer=signer
        )

    def at_the_border(self) -> list[str]:
        """Return the processes that speak to another zone."""
        found = self.authority.lists["services"].identities.values()
        return [one.name for one in found if one.role in _AT_THE_BORDER]


class SignedZone(TlsZone, KeysZone, AccountsZone):
    """A zone whose processes sign, with own accounts, and whose brokers are reached by TLS."""

    def inside(self, lock_directory: Path) -> Bus:
        """Return a bus on the top broker, with the account and the key of the zone's API."""
        return Bus(
            messaging_conf(), self.url_for(self.plain_top_url, "api", TOP),
            lock_directory=lock_directory,
            message_signer=self.authority.signer("api", nonces="inside"),
        )  # fmt: skip


def introduce(parent: ZoneDeployment, child: ZoneDeployment) -> None:
    """Let each put the other's processes on its list, as two operators do; open the border."""
    if isinstance(parent, TlsZone) and isinstance(child, TlsZone):
        child.let_in(parent)
    if not (isinstance(parent, KeysZone) and isinstance(child, KeysZone)):
        return
    for name in parent.at_the_border():
        child.authority.vouch_for(parent.authority, name, "parent_zone", parent.name)
    for name in child.at_the_border():
        parent.authority.vouch_for(child.authority, name, "child_zone", child.name)
    parent.hand_out()
    child.hand_out()
