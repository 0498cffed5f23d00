"""Images of a Glance: what users of the Compute API see of them, and what hosts fetch and store.

The Glance is our own image service, of another deployment: it answers as Glance's version 2 does.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.server
import shutil
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from api.image_source import GlanceImages, make_image_source
from armillary import exception
from armillary.db import Database
from armillary.images.glance import Glance
from compute_agent.virt.image_cache import ImageCache
from compute_agent.virt.image_service import ImageService
from compute_agent.virt.snapshot_store import snapshot_store
from conductor.super_conductor.endpoints.catalogue import ImagesEndpoint
from conductor.super_conductor.interface import SuperConductorAPI
from objects.images.image_record import PENDING_DELETE, PRIVATE, SAVING, ImageRecord
from tests import builders
from tests.fixtures.control_plane import a_user
from tests.unit.api.conftest import make_conf
from tests.unit.api.image.conftest import ADMIN, ALICE, BOB, DATA, Images

NEW_ID = "5f3a4b1e-0000-4000-8000-00000000000a"


@pytest.fixture
def ours(address: tuple[str, int], api_database: Database, tmp_path: Path) -> Iterator[Our]:
    """Return a deployment whose images are those of ``images``."""
    folder = tmp_path / "ours"
    folder.mkdir()
    shutil.copy(tmp_path / "api.sqlite", folder / "api.sqlite")
    database = Database(f"sqlite:///{folder / 'api.sqlite'}", name="api")
    conf = make_conf(folder)
    conf.set_override("auth_type", "none", group="glance")
    conf.set_override(
        "endpoint_override", f"http://{address[0]}:{address[1]}/image", group="glance"
    )
    yield Our(conf, database)
    database.dispose()


class Our:
    """A Compute API, and what a host of its deployment does."""

    def __init__(self, conf: cfg.ConfigOpts, database: Database) -> None:
        self.conf = conf
        self.database = database
        records = ImagesEndpoint(database, lambda: datetime.now(UTC).timestamp())
        self.conductor = cast("SuperConductorAPI", records)
        self.web = testing.TestClient(make_front(conf, conductor=self.conductor))
        self.cache = Path(conf.state_path) / "cache"

    def send(self, method: str, path: str, *, token: str = ALICE, **more: Any) -> testing.Result:
        headers = {"X-Auth-Token": token}
        return self.web.simulate_request(method, f"/v2.1/images{path}", headers=headers, **more)

    def names(self, token: str) -> list[str]:
        return [image["name"] for image in self.send("GET", "", token=token).json["images"]]

    @property
    def source(self) -> GlanceImages:
        return cast("GlanceImages", make_image_source(self.conf, self.conductor))

    def fetch(self, image_id: str) -> bytes:
        """Return the data of an image as a host has it."""
        context = a_user("stars")
        record = self.conductor.get_image(context, self.source.lookup(context, image_id))
        ImageCache(self.conf, self.cache, "h1").fetch(record.image)
        return (self.cache / image_id).read_bytes()


def test_users_see_the_images_that_glance_lets_them_use(images: Images, ours: Our) -> None:
    """Public ones, their project's and those shared with it; by id or name, with its metadata."""
    own = images.create("own", colour="blue", min_ram=64)
    images.create("public", token=ADMIN, visibility="public")
    shared = images.create("shared", token=BOB)
    member = {"member": "stars"}
    images.send("POST", f"/v2/images/{shared['id']}/members", token=BOB, json=member)
    assert ours.send("GET", f"/{shared['id']}").status_code == 200
    assert ours.names(ALICE) == ["own", "public", "shared"]
    assert ours.names(BOB) == ["public", "shared"]
    shown = ours.send("GET", "/own").json["image"]
    assert (shown["id"], shown["minRam"], shown["status"]) == (own["id"], 64, "SAVING")
    assert (shown["metadata"], shown["created"]) == ({"colour": "blue"}, own["created_at"])
    assert ours.send("GET", f"/{own['id']}", token=BOB).status_code == 404
    assert ours.send("GET", f"/{NEW_ID}").status_code == 404
    assert ours.send("GET", "/../members").status_code == 404


def test_changes_and_deletions_are_glances(images: Images, ours: Our) -> None:
    """Of the image's project alone; a protected image stays."""
    image = images.create("disk", colour="blue", size_class="a/b~c")
    path = f"/{image['id']}/metadata"
    body = {"metadata": {"colour": "red", "x.y": "1"}}
    assert ours.send("PUT", path, token=BOB, json=body).status_code == 404
    assert ours.send("PUT", path, json=body).json == body
    assert images.show(image["id"])["x.y"] == "1"
    assert "size_class" not in images.show(image["id"])
    images.patch(image["id"], ("replace", "/protected", True))
    assert ours.send("DELETE", f"/{image['id']}").status_code == 403
    images.patch(image["id"], ("replace", "/protected", False))
    assert ours.send("DELETE", f"/{image['id']}").status_code == 204
    assert images.names() == set()
    assert ours.send("POST", "", token=ADMIN, json={"image": {"name": "x"}}).status_code == 400


def test_no_property_of_glance_names_a_program_or_a_file_of_hosts(
    images: Images, ours: Our
) -> None:
    """Any user may set one there."""
    image = images.create(token=ADMIN, process_command="rm", libvirt_disk_file="/etc/shadow", a="b")
    assert ours.send("GET", f"/{image['id']}", token=ADMIN).json["image"]["metadata"] == {"a": "b"}


def test_a_host_fetches_an_image_once(images: Images, ours: Our, store: Path) -> None:
    """And refuses data that is not what the record says."""
    image_id, other = images.create()["id"], images.create()["id"]
    images.upload(image_id)
    assert ours.fetch(image_id) == DATA
    (store / image_id).unlink()
    assert ours.fetch(image_id) == DATA
    images.upload(other)
    (store / other).write_bytes(DATA[:-1] + b"x")
    with pytest.raises(exception.Invalid, match="another SHA-512 digest"):
        ours.fetch(other)
    assert not (ours.cache / other).exists()


def test_a_snapshot_is_an_image_of_glance(images: Images, ours: Our) -> None:
    """Announced by the API, or by the host if it is faster; the data is the host's to store."""
    image = builders.an_image(id=NEW_ID, name="snap", status=SAVING)
    record = ImageRecord(image, owner="stars", visibility=PRIVATE)
    ours.source.announce(record)
    assert images.show(NEW_ID)["status"] == "queued"
    host = snapshot_store(ours.conf, ImageService(ours.conf, lambda *_: None))
    host.check(image)
    with host.draft() as draft:
        draft.write_bytes(DATA)
        stored = host.publish(draft, image, "stars")
    shown = images.show(NEW_ID)
    assert (shown["status"], shown["owner"], shown["size"]) == ("active", "stars", len(DATA))
    assert stored.sha512 == shown["os_hash_value"] == hashlib.sha512(DATA).hexdigest()


def test_the_image_of_an_unshelved_server_is_deleted(images: Images, ours: Our) -> None:
    """With the next list of images: conductors do not talk to Glance."""
    image = images.create("s-shelved")
    record = ours.conductor.get_image(
        a_user("stars"), ours.source.lookup(a_user("stars"), image["id"])
    )
    pending = replace(record, image=record.image.with_values(status=PENDING_DELETE))
    ours.conductor.update_image(a_user("stars"), pending)
    assert ours.names(ALICE) == []
    assert images.names() == set()


def test_without_glance_requests_are_told_to_come_later(ours: Our) -> None:
    """It is down: nothing of ours is wrong."""
    ours.conf.set_override("endpoint_override", "http://127.0.0.1:9/image", group="glance")
    alone = Our(ours.conf, ours.database)
    assert alone.send("GET", "").status_code == 503
    assert alone.send("GET", f"/{NEW_ID}").status_code == 503


@pytest.mark.parametrize(
    ("override", "status", "said"),
    [
        ("http://127.0.0.1:9/image", 0, r"cannot be reached \(ConnectFailure; see \[glance\]\)"),
        (None, 500, "answers with the status 500"),
        (None, 401, r"refuses the account of \[glance\]"),
        (None, 200, r"does not answer with JSON; see \[glance\] endpoint_override"),
    ],
    ids=["away", "failing", "refusing", "another-service"],
)
def test_what_is_wrong_with_a_glance_is_said(
    ours: Our, override: str | None, status: int, said: str
) -> None:
    """With the option that may be wrong, and without addresses."""
    with a_page(status) as page:
        ours.conf.set_override("endpoint_override", override or page, group="glance")
        glance = Glance(ours.conf)
        with pytest.raises(exception.Unavailable, match=f"Glance {said}") as raised:
            glance.get(NEW_ID)
    assert "127.0.0.1" not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "headers", "seconds", "said"),
    [
        (503, {"Retry-After": "7"}, 7.0, "answers with the status 503"),
        (500, {}, 0.0, "answers with the status 500"),
        (429, {"Retry-After": "9"}, 9.0, "answers with the status 429"),
        (410, {}, None, "answers with the status 410"),
        (307, {"Location": "http://127.0.0.1:9/"}, None, "sends us to another address"),
        (200, {"Content-Length": "99"}, 0.0, "ends its answer early"),
        (206, {"Content-Range": "bytes 0-1/2"}, 0.0, "answers with another part"),
    ],
    ids=["later", "broken", "busy", "gone", "elsewhere", "cut off", "another part"],
)
def test_a_download_that_fails_says_whether_to_try_again(
    ours: Our, status: int, headers: dict[str, str], seconds: float | None, said: str
) -> None:
    """Our token goes to no other address."""
    with a_page(status, headers) as page:
        ours.conf.set_override("endpoint_override", page, group="glance")
        with pytest.raises(exception.Unavailable, match=f"Glance {said}") as raised:
            list(Glance(ours.conf).download(NEW_ID, 5))
    assert raised.value.kwargs["retry_after_seconds"] == seconds


@contextlib.contextmanager
def a_page(status: int, headers: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """Serve a page that is none of an image service, and yield its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(b"<html>It works!</html>")

        def log_message(self, *_arguments: object) -> None: ...

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_an_incomplete_login_is_a_mistake_of_the_configuration(conf: cfg.ConfigOpts) -> None:
    """Found at start."""
    conf.set_override("auth_type", "password", group="glance")
    with pytest.raises(exception.ConfigurationError, match="auth_url"):
        make_image_source(conf, cast("SuperConductorAPI", None))
