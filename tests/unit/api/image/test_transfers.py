"""Data of images for hosts: by ticket only, on a connection that may break."""

import contextlib
import dataclasses
import hashlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import falcon
import pytest
from oslo_config import cfg

from api.image.store import HOSTS, ImageStore
from armillary import exception
from armillary.http.wsgi.tls import TlsFiles
from armillary.images.http_data import PIECE_BYTES
from compute_agent.virt.image_service import ImageService
from objects.images.image_record import SAVING, STORE_LOCK, ImageRecord
from objects.images.image_ticket import HEADER, READ, WRITE, ImageTicket
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import a_user, an_admin
from tests.fixtures.programs.serving import serving
from tests.fixtures.signing.authority import CertificateAuthority
from tests.unit.api.image.conftest import ALICE, DATA, Images, Records

SERVER = "5f3a4b1e-0000-4000-8000-000000000001"
SHA512 = hashlib.sha512(DATA).hexdigest()


class Breaking:
    """A way to the API on which connections break after some bytes of the answer."""

    def __init__(self, address: tuple[str, int], breaks_after: list[int]) -> None:
        self._address = address
        self._breaks_after = breaks_after
        self.requests: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/image"
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            left = self._breaks_after.pop(0) if self._breaks_after else len(DATA) * 2
            with client, socket.create_connection(self._address) as api:
                self.requests.append(client.recv(65536))
                api.sendall(self.requests[-1])
                body = threading.Thread(target=_copy, args=(client, api))
                body.start()
                while left > 0 and (piece := api.recv(min(left, 65536))):
                    client.sendall(piece)
                    left -= len(piece)
                for each in (client, api):
                    with contextlib.suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
                body.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Pass on what comes, and the end."""
    with contextlib.suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@dataclasses.dataclass
class Host:
    """A host, whose tickets are for what its cell's conductor found that it needs."""

    images: Images
    conf: cfg.ConfigOpts
    slept: list[float] = dataclasses.field(default_factory=list)
    asked: list[str] = dataclasses.field(default_factory=list)

    @property
    def records(self) -> Records:
        return cast("Records", self.images.conductor)

    def ticket(self, image_id: str, access: str = READ) -> ImageTicket:
        ticket = self.records.tickets.ticket(self.record(image_id), access)
        assert ticket is not None
        return ticket

    def record(self, image_id: str) -> ImageRecord:
        return self.records.get_image(an_admin(), image_id)

    def service(self) -> ImageService:
        def ask(image_id: str, access: str, instance_uuid: str | None) -> ImageTicket:
            self.asked.append(access)
            return self.ticket(image_id, access)

        return ImageService(self.conf, ask, sleep=self.sleep, clock=self.records.clock)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.records.clock.advance(seconds)

    def fetch(self, image_id: str) -> bytes:
        return b"".join(self.service().download(self.ticket(image_id), SERVER))

    def get(self, image_id: str, token: str, **headers: str) -> Any:
        return self.images.web.simulate_get(
            f"/image/v2/transfers/{image_id}", headers={HEADER: token, **headers}
        )


@pytest.fixture
def host(images: Images, conf: cfg.ConfigOpts, address: tuple[str, int]) -> Host:
    conf.set_override("endpoint", f"http://{address[0]}:{address[1]}/image", group="image")
    return Host(images, conf)


@pytest.fixture
def image_id(images: Images) -> str:
    """Return a private image with data."""
    made = images.create(visibility="private")["id"]
    images.upload(made)
    return str(made)


@pytest.fixture
def snapshot(images: Images) -> str:
    """Return the image of a snapshot whose data its server's host is to store."""
    made = images.create(instance_uuid=SERVER)["id"]
    record = images.conductor.get_image(a_user("stars"), made)
    saving = replace(record, image=record.image.with_values(status=SAVING))
    images.conductor.update_image(a_user("stars"), saving)
    return str(made)


@pytest.fixture
def breaking(address: tuple[str, int], host: Host) -> Iterator[Callable[..., Breaking]]:
    """Return a function that makes the host's way to the API break after some bytes each."""
    made: list[Breaking] = []

    def make(*after: int) -> Breaking:
        made.append(Breaking(address, list(after)))
        host.conf.set_override("endpoint", made[-1].url, group="image")
        return made[-1]

    yield make
    for each in made:
        each.close()


def files(store: Path) -> list[str]:
    return [path.name for path in store.glob("*") if path.name != STORE_LOCK]


def test_a_host_reads_an_image_by_its_ticket(host: Host, image_id: str) -> None:
    """Also one that is private; it has no token."""
    assert host.fetch(image_id) == DATA
    ticket = host.ticket(image_id)
    assert (ticket.size_bytes, ticket.sha512) == (len(DATA), SHA512)


def of_another_image(host: Host, image_id: str) -> str:
    other = host.images.create()["id"]
    host.images.upload(other)
    return host.ticket(other).token


def expired(host: Host, image_id: str) -> str:
    token = host.ticket(image_id).token
    host.records.clock.advance(host.conf.image.ticket_lifetime_seconds)
    return token


def forged(host: Host, image_id: str) -> str:
    token = host.ticket(image_id).token
    return token[:-1] + ("A" if token[-1] != "A" else "B")


def with_another_end(host: Host, image_id: str) -> str:
    prefix, payload, _mac = host.ticket(image_id).token.split(".")
    host.records.clock.advance(60)
    return ".".join((prefix, payload, host.ticket(image_id).token.split(".")[2]))


def to_write(host: Host, image_id: str) -> str:
    return host.ticket(image_id, WRITE).token


@pytest.mark.parametrize(
    "token",
    [
        of_another_image, expired, forged, with_another_end, to_write,
        lambda *_: "", lambda *_: ALICE, lambda *_: "img1.W10.W10",
    ],
    ids=["another image", "expired", "forged", "mixed", "to write", "none", "a token", "made up"],
)  # fmt: skip
def test_another_ticket_opens_nothing(
    host: Host, image_id: str, token: Callable[[Host, str], str]
) -> None:
    """A user's token is not a ticket."""
    answer = host.get(image_id, token(host, image_id), **{"X-Auth-Token": ALICE})
    assert (answer.status_code, DATA[:100] in answer.content) == (401, False)


def test_a_ticket_is_not_a_token(host: Host, image_id: str) -> None:
    """It opens nothing else of the image service."""
    headers = {HEADER: host.ticket(image_id).token, "X-Auth-Token": ""}
    headers["X-Auth-Token"] = host.ticket(image_id).token
    for path in (f"/v2/images/{image_id}/file", f"/v2/images/{image_id}"):
        found = host.images.web.simulate_get(f"/image{path}", headers=headers)
        assert found.status_code in (401, 404)


def test_a_ticket_ends_with_its_image(host: Host, image_id: str) -> None:
    token = host.ticket(image_id).token
    assert host.images.send("DELETE", f"/v2/images/{image_id}").status_code == 204
    assert host.get(image_id, token).status_code == 404


def test_a_broken_transfer_goes_on_where_it_ended(
    host: Host, image_id: str, breaking: Callable[..., Breaking]
) -> None:
    """With a new ticket for each attempt, and what came is not sent again."""
    way = breaking(0, 200_000, 300_000)
    assert host.fetch(image_id) == DATA
    assert host.asked == [READ] * 3
    first, second, third, last = way.requests
    assert b"Range" not in first + second
    assert b"Range: bytes=" in third
    assert b"Range: bytes=" in last
    tickets = {line for one in way.requests for line in one.split(b"\r\n") if b"img1." in line}
    assert len(tickets) > 1


def test_a_service_that_stays_away_is_given_up(
    host: Host, image_id: str, breaking: Callable[..., Breaking]
) -> None:
    """After a while without progress; the build goes to the next host."""
    breaking(*[0] * 1000)
    with pytest.raises(exception.Unavailable, match="image service"):
        host.fetch(image_id)
    assert 200 < sum(host.slept) <= host.conf.image.retry_seconds_max


def test_a_way_that_breaks_often_is_not_given_up(
    host: Host, image_id: str, breaking: Callable[..., Breaking]
) -> None:
    """As long as data comes."""
    host.conf.set_override("retry_seconds_max", 2, group="image")
    breaking(*[PIECE_BYTES + 4096] * 7)
    assert host.fetch(image_id) == DATA


def test_transfers_of_hosts_and_of_users_are_counted_apart(host: Host, image_id: str) -> None:
    """So neither keeps the others out; a host that finds too many waits."""
    host.conf.set_override("host_transfers_max", 1, group="image")
    store, record = ImageStore(host.conf), host.record(image_id)
    begun = store.read(record, project_id=HOSTS)
    with pytest.raises(falcon.HTTPServiceUnavailable):
        store.read(record, project_id=HOSTS)
    assert b"".join(store.read(record, project_id="stars")) == DATA
    assert b"".join(begun) == DATA
    assert b"".join(store.read(record, project_id=HOSTS, start=1)) == DATA[1:]


def test_a_ticket_that_is_always_refused_says_why(host: Host, image_id: str) -> None:
    """Such as by clocks that differ."""
    host.records.clock.advance(-3600)
    ticket = host.ticket(image_id)
    host.records.clock.advance(3600)
    service = ImageService(host.conf, lambda *_: ticket, sleep=host.sleep)
    with pytest.raises(exception.Unavailable, match="clocks"):
        b"".join(service.download(ticket, SERVER))


@pytest.mark.parametrize("asked", ["bytes=0-1", f"bytes={len(DATA)}-", "bytes=-5", "lines=1-"])
def test_another_range_is_refused(host: Host, image_id: str, asked: str) -> None:
    answer = host.get(image_id, host.ticket(image_id).token, Range=asked)
    assert answer.status_code == 416


def test_a_host_writes_a_snapshot(host: Host, snapshot: str, store: Path, tmp_path: Path) -> None:
    """Its record becomes active when the conductor knows of the data."""
    path = tmp_path / "draft"
    path.write_bytes(DATA)
    for _ in range(2):  # an answer may get lost
        host.service().upload(snapshot, path, SHA512, SERVER)
    assert files(store) == [snapshot]
    assert (store / snapshot).read_bytes() == DATA
    assert host.images.show(snapshot)["status"] == "saving"


def test_a_broken_upload_is_sent_again(
    host: Host, snapshot: str, store: Path, tmp_path: Path, breaking: Callable[..., Breaking]
) -> None:
    """And leaves nothing half-written."""
    path = tmp_path / "draft"
    path.write_bytes(DATA[:30_000])
    breaking(0, 0)
    host.service().upload(snapshot, path, hashlib.sha512(DATA[:30_000]).hexdigest(), SERVER)
    assert host.asked == [WRITE] * 3
    wait_for(lambda: files(store) == [snapshot], "the API notices what was cut off")


def test_other_data_than_announced_is_not_kept(
    host: Host, snapshot: str, store: Path, tmp_path: Path
) -> None:
    path = tmp_path / "draft"
    path.write_bytes(DATA)
    with pytest.raises(exception.Invalid, match="another SHA-512"):
        host.service().upload(snapshot, path, "0" * 128, SERVER)
    assert files(store) == []


def test_only_what_waits_for_data_is_written(
    host: Host, image_id: str, store: Path, tmp_path: Path
) -> None:
    """An image that has its data keeps it, whatever ticket there was."""
    path = tmp_path / "draft"
    path.write_bytes(b"other")
    with pytest.raises(exception.ImageNotFound):
        host.service().upload(image_id, path, hashlib.sha512(b"other").hexdigest(), SERVER)
    assert (store / image_id).read_bytes() == DATA


def test_a_host_trusts_the_authorities_that_it_is_told_alone(
    images: Images, host: Host, image_id: str, tmp_path: Path
) -> None:
    """It asks a service with another certificate for nothing, and does not try again."""
    authority = CertificateAuthority(tmp_path / "authority")
    made = authority.issue("api")
    files = TlsFiles(str(made.cert_file), str(made.key_file))
    with serving(images.app, tls=files) as server:
        endpoint = f"https://127.0.0.1:{server.address[1]}/image"
        host.conf.set_override("endpoint", endpoint, group="image")
        with pytest.raises(exception.Unavailable, match="certificate verify failed"):
            host.fetch(image_id)
        assert host.slept == []
        host.conf.set_override("cafile", str(authority.ca_file), group="image")
        assert host.fetch(image_id) == DATA
