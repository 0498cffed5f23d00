"""Data of images: upload, download, what is refused, and what is left on the disk."""

import contextlib
import hashlib
import http.client
import os
import socket
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from oslo_config import cfg

from api.image.store import PIECE_BYTES, ImageStore
from armillary.context import admin_context
from compute_agent.virt.snapshot_store import SnapshotStore
from objects.images.image_record import SAVING, STORE_LOCK
from tests.fixtures import waiting
from tests.fixtures.asking import wait_for
from tests.fixtures.control_plane import a_user
from tests.fixtures.messages.direct_bus import failing
from tests.unit.api.image.conftest import ADMIN, ALICE, BOB, DATA, Images


def files(store: Path) -> list[Path]:
    return [path for path in store.glob("*") if path.name != STORE_LOCK]


def test_data_comes_back_as_it_was_sent(images: Images, store: Path) -> None:
    """The image is active from then on, with size and digests; only the service reads the file."""
    image = images.create()
    assert (image["status"], image["size"], image["checksum"]) == ("queued", None, None)
    assert images.upload(image["id"]) == 204
    shown = images.show(image["id"])
    assert (shown["status"], shown["size"]) == ("active", len(DATA))
    assert shown["checksum"] == hashlib.md5(DATA).hexdigest()
    assert shown["os_hash_value"] == hashlib.sha512(DATA).hexdigest()
    result = images.send("GET", f"/v2/images/{image['id']}/file")
    assert result.content == DATA
    assert result.headers["Content-MD5"] == shown["checksum"]
    (path,) = files(store)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(store.stat().st_mode) == 0o700


def test_data_is_uploaded_once(images: Images, store: Path) -> None:
    """A second upload changes nothing, neither the record nor the file."""
    image = images.create()
    images.upload(image["id"])
    assert images.upload(image["id"], b"other") == 409
    assert images.send("GET", f"/v2/images/{image['id']}/file").content == DATA
    assert len(files(store)) == 1


def test_no_data_is_uploaded_for_a_snapshot(images: Images, store: Path) -> None:
    """While its server's host stores it; the host would take the upload for what it stored."""
    image = images.create(instance_uuid="5f3a4b1e-0000-4000-8000-000000000001")
    record = images.conductor.get_image(a_user("stars"), image["id"])
    saving = replace(record, image=record.image.with_values(status=SAVING))
    images.conductor.update_image(a_user("stars"), saving)
    assert images.upload(image["id"]) == 409
    assert images.upload(image["id"], token=ADMIN) == 409
    assert (images.show(image["id"])["status"], files(store)) == ("saving", [])


def test_a_snapshot_deleted_meanwhile_leaves_no_data(
    images: Images, store: Path, conf: cfg.ConfigOpts
) -> None:
    """The host that stores it is told by a file, which goes with old drafts."""
    store.mkdir(parents=True)
    image = images.create(instance_uuid="5f3a4b1e-0000-4000-8000-000000000001")
    record = images.conductor.get_image(a_user("stars"), image["id"])
    saving = replace(record, image=record.image.with_values(status=SAVING))
    images.conductor.update_image(a_user("stars"), saving)
    host = SnapshotStore(conf)
    with host.draft() as draft:
        draft.write_bytes(DATA)
        assert images.send("DELETE", f"/v2/images/{image['id']}").status_code == 204
        with pytest.raises(OSError, match="deleted"):
            host.publish(draft, record.image, "stars")
    (mark,) = files(store)
    os.utime(mark, (0, 0))
    images.upload(images.create()["id"])
    assert not mark.exists()


@pytest.mark.parametrize("root", ["/image/v2", "/v2.1"])
def test_a_deleted_image_leaves_no_data(images: Images, store: Path, root: str) -> None:
    """Whichever API deletes it; and no other image gets its id, which users may still name."""
    image = images.create()
    images.upload(image["id"])
    headers = {"X-Auth-Token": ALICE}
    path = f"{root}/images/{image['id']}"
    assert images.web.simulate_delete(path, headers=headers).status_code == 204
    assert files(store) == []
    assert images.send("GET", f"/v2/images/{image['id']}").status_code == 404
    body = {"id": image["id"], "name": "mine", "visibility": "community"}
    assert images.send("POST", "/v2/images", token=BOB, json=body).status_code == 409


@pytest.mark.parametrize("root", ["/image/v2", "/v2.1"])
def test_a_delete_whose_api_died_is_finished_by_another(
    images: Images, store: Path, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The image is gone for users, who cannot ask again; its data goes later."""
    image = images.create()
    images.upload(image["id"])
    path = f"{root}/images/{image['id']}"
    with monkeypatch.context() as dying:
        dying.setattr(ImageStore, "remove", lambda *_: failing())
        answer = images.web.simulate_delete(path, headers={"X-Auth-Token": ALICE})
    assert answer.status_code == 500
    assert images.send("GET", f"/v2/images/{image['id']}").status_code == 404
    assert images.names() == set()
    assert [path.name for path in files(store)] == [image["id"]]
    other = images.create("other")
    images.upload(other["id"])
    assert [path.name for path in files(store)] == [other["id"]]
    body = {"id": image["id"], "name": "mine", "visibility": "community"}
    assert images.send("POST", "/v2/images", token=BOB, json=body).status_code == 409


def test_too_much_data_is_refused_and_removed(
    images: Images, store: Path, conf: cfg.ConfigOpts
) -> None:
    """For one image, and for all of them."""
    conf.set_override("size_bytes_max", 1000, group="image")
    image = images.create()
    assert images.upload(image["id"]) == 413
    assert images.show(image["id"])["status"] == "queued"
    assert files(store) == []
    conf.set_override("store_bytes_max", 1500, group="image")
    assert images.upload(image["id"], b"x" * 1000) == 204
    assert images.upload(images.create()["id"], b"x" * 501) == 413


def chunk(size: int) -> bytes:
    return b"%x\r\n%s\r\n" % (size, b"x" * size)


def test_uploads_together_do_not_exceed_the_store(
    images: Images, store: Path, conf: cfg.ConfigOpts, address: tuple[str, int]
) -> None:
    """Two that begin while there is room for one: the second is refused before it is complete."""
    conf.set_override("store_bytes_max", 600_000, group="image")
    first, second = images.create(), images.create()
    connection = http.client.HTTPConnection(*address, timeout=waiting.seconds(30))
    connection.putrequest("PUT", f"/image/v2/images/{first['id']}/file")
    connection.putheader("X-Auth-Token", ALICE)
    connection.putheader("Content-Type", "application/octet-stream")
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders(chunk(PIECE_BYTES))
    wait_for(lambda: any(path.stat().st_size for path in files(store)), "its room is kept", 30)
    assert images.upload(second["id"], b"y" * 300_000) == 413
    connection.send(chunk(600_000 - PIECE_BYTES) + chunk(0))
    assert connection.getresponse().status == 204
    connection.close()
    (path,) = files(store)
    assert path.stat().st_size == 600_000


@pytest.fixture
def slow_uploads(
    images: Images, address: tuple[str, int], store: Path
) -> Iterator[list[socket.socket]]:
    """Begin as many uploads of one project as it may have, of which no more comes."""
    head = (
        "PUT /image/v2/images/{}/file HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: {}\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 100000000\r\n\r\n"
    )
    with contextlib.ExitStack() as stack:
        found = []
        for _ in range(2):
            image = images.create()
            sock = stack.enter_context(
                socket.create_connection(address, timeout=waiting.seconds(60))
            )
            sock.sendall(head.format(image["id"], ALICE).encode() + b"x" * PIECE_BYTES)
            found.append(sock)
        wait_for(lambda: len(files(store)) == 2, "both have begun", 30)
        yield found


def test_slow_uploads_of_a_project_keep_no_other_out(
    images: Images, slow_uploads: list[socket.socket]
) -> None:
    """One more of its own is refused until one has ended; they end by the server's limits."""
    mine, other = images.create(), images.create(token=BOB)
    assert images.upload(mine["id"]) == 503
    assert images.upload(other["id"], token=BOB) == 204
    slow_uploads[0].close()
    wait_for(lambda: images.upload(mine["id"]) == 204, "there is room again", 30)


@pytest.mark.parametrize(
    ("token", "status"), [(ALICE, 204), (ADMIN, 204), (BOB, 404)], ids=["own", "admin", "other"]
)
def test_only_users_of_its_project_upload(token: str, status: int, images: Images) -> None:
    assert images.upload(images.create()["id"], token=token) == status


def test_formats_come_before_data(images: Images) -> None:
    image = images.create(container_format=None)
    assert images.upload(image["id"]) == 400


def test_an_image_without_data_has_none_to_download(images: Images) -> None:
    image = images.create()
    assert images.send("GET", f"/v2/images/{image['id']}/file").status_code == 204


def test_an_image_that_names_a_program_needs_no_data(images: Images) -> None:
    """Nor does one of simulated hosts; only administrators name programs."""
    assert images.create(img_hv_type="simulated")["status"] == "active"
    image = images.create(token=ADMIN, process_command="sleep 9")
    assert image["status"] == "active"
    body = {"name": "mine", "process_command": "id"}
    assert images.send("POST", "/v2/images", json=body).status_code == 403
    change = ("add", "/libvirt_disk_file", "/etc/shadow")
    assert images.patch(images.create()["id"], change).status_code == 403


def test_a_deactivated_image_is_not_downloaded(images: Images) -> None:
    image = images.create()
    images.upload(image["id"])
    path = f"/v2/images/{image['id']}"
    assert images.send("POST", f"{path}/actions/deactivate").status_code == 403
    assert images.send("POST", f"{path}/actions/deactivate", token=ADMIN).status_code == 204
    assert images.send("GET", f"{path}/file").status_code == 403
    assert images.send("POST", f"{path}/actions/reactivate", token=ADMIN).status_code == 204
    assert images.send("GET", f"{path}/file").content == DATA


def pieces() -> Iterator[bytes]:
    for start in range(0, len(DATA), 5000):
        yield DATA[start : start + 5000]


def test_data_of_unknown_length_comes_in_chunks(images: Images, address: tuple[str, int]) -> None:
    """As clients send what they read from a pipe; over a real connection."""
    image = images.create()
    connection = http.client.HTTPConnection(*address, timeout=waiting.seconds(30))
    headers = {"X-Auth-Token": ALICE, "Content-Type": "application/octet-stream"}
    path = f"/image/v2/images/{image['id']}/file"
    connection.request("PUT", path, body=pieces(), headers=headers, encode_chunked=True)
    assert connection.getresponse().status == 204
    connection.close()
    assert images.show(image["id"])["checksum"] == hashlib.md5(DATA).hexdigest()


@pytest.mark.parametrize("is_chunked", [True, False])
def test_data_that_is_cut_off_is_not_stored(
    is_chunked: bool, images: Images, store: Path, address: tuple[str, int]
) -> None:
    """A client that goes away leaves the image as it was."""
    image = images.create()
    connection = http.client.HTTPConnection(*address, timeout=waiting.seconds(30))
    connection.putrequest("PUT", f"/image/v2/images/{image['id']}/file")
    connection.putheader("X-Auth-Token", ALICE)
    connection.putheader("Content-Type", "application/octet-stream")
    if is_chunked:
        connection.putheader("Transfer-Encoding", "chunked")
        connection.endheaders(b"1000\r\nshort")
    else:
        connection.putheader("Content-Length", "100000000")
        connection.endheaders(b"short")
    assert connection.sock is not None
    connection.sock.shutdown(1)
    assert connection.getresponse().status == 400
    connection.close()
    assert images.show(image["id"])["status"] == "queued"
    assert files(store) == []


def test_a_refused_upload_is_not_read(address: tuple[str, int]) -> None:
    """A client that may not upload occupies no thread by sending slowly: it is disconnected."""
    head = (
        "PUT /image/v2/images/none/file HTTP/1.1\r\nHost: localhost\r\nX-Auth-Token: :\r\n"
        "Content-Type: application/octet-stream\r\nContent-Length: 100000000\r\n\r\n"
    )
    with socket.create_connection(address, timeout=waiting.seconds(10)) as connection:
        connection.sendall(head.encode())
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert answer.startswith(b"HTTP/1.1 401")


def test_what_conductors_do_not_need_goes_with_its_data(images: Images, store: Path) -> None:
    """The image of a shelved server: no user sees it, and the next upload of any removes it."""
    image = images.create()
    images.upload(image["id"])
    record = images.conductor.get_image(admin_context(), image["id"])
    ended = replace(record, image=record.image.with_values(status="pending_delete"))
    images.conductor.update_image(admin_context(), ended)
    assert images.names() == set()
    assert images.send("GET", f"/v2/images/{image['id']}").status_code == 404
    assert [path.name for path in files(store)] == [image["id"]]
    other = images.create("other")
    assert images.upload(other["id"]) == 204
    assert images.names() == {"other"}
    assert [path.name for path in files(store)] == [other["id"]]
