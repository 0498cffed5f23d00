"""The image service on real records and files, whose callers are believed: ``USER:PROJECT``."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from falcon import testing
from oslo_config import cfg

from api.front import make_front
from conductor.super_conductor.endpoints.catalogue import ImagesEndpoint
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.servers.image_tickets import ImageTickets
from tests.fixtures.cell import Clock
from tests.fixtures.control_plane import api_database  # noqa: F401 - a fixture
from tests.fixtures.programs.serving import serving

DATA = bytes(range(256)) * 2000
ALICE, BOB, ADMIN = "alice:stars", "bob:moons", "admin"


class Records(ImagesEndpoint):
    """The records of images, and tickets for their data; both tell the time by ``clock``."""

    def __init__(self, conf: cfg.ConfigOpts, database: Any) -> None:
        self.clock = Clock()
        self.clock.seconds = datetime.now(UTC).timestamp()
        super().__init__(database, self.clock)
        self.tickets = ImageTickets(conf, database, self.clock)
        self.redeem_image_ticket = self.tickets.redeem_image_ticket


class Images:
    """A client of the image service."""

    def __init__(self, conf: cfg.ConfigOpts, conductor: SuperConductorAPI) -> None:
        self.conductor = conductor
        self.app = make_front(conf, conductor=conductor)
        self.web = testing.TestClient(self.app)

    def send(self, method: str, path: str, *, token: str = ALICE, **more: Any) -> testing.Result:
        headers = {"X-Auth-Token": token, **more.pop("headers", {})}
        return self.web.simulate_request(method, f"/image{path}", headers=headers, **more)

    def create(self, name: str = "disk", *, token: str = ALICE, **values: Any) -> dict[str, Any]:
        """Create an image; return it."""
        formats = {"disk_format": "raw", "container_format": "bare"}
        body = {"name": name, **formats, **values}
        result = self.send("POST", "/v2/images", token=token, json=body)
        assert result.status_code == 201, result.text
        made: dict[str, Any] = result.json
        return made

    def upload(self, image_id: str, data: bytes = DATA, *, token: str = ALICE) -> int:
        """Upload data; return the status."""
        headers = {"Content-Type": "application/octet-stream"}
        path = f"/v2/images/{image_id}/file"
        return self.send("PUT", path, token=token, body=data, headers=headers).status_code

    def show(self, image_id: str, *, token: str = ALICE) -> dict[str, Any]:
        result = self.send("GET", f"/v2/images/{image_id}", token=token)
        assert result.status_code == 200, result.text
        shown: dict[str, Any] = result.json
        return shown

    def patch(
        self, image_id: str, *changes: tuple[str, str, Any], token: str = ALICE
    ) -> testing.Result:
        """Change an image by operations, paths and values."""
        body = [{"op": op, "path": path, "value": value} for op, path, value in changes]
        headers = {"Content-Type": "application/openstack-images-v2.1-json-patch"}
        return self.send("PATCH", f"/v2/images/{image_id}", token=token, json=body, headers=headers)

    def names(self, *, token: str = ALICE, **query: Any) -> set[str]:
        """Return the names in a list."""
        result = self.send("GET", "/v2/images", token=token, params=query)
        assert result.status_code == 200, result.text
        return {image["name"] for image in result.json["images"]}


@pytest.fixture
def images(conf: cfg.ConfigOpts, api_database: Any) -> Images:  # noqa: F811
    """Return a client of a service without images."""
    return Images(conf, cast("SuperConductorAPI", Records(conf, api_database)))


@pytest.fixture
def store(conf: cfg.ConfigOpts) -> Path:
    """Return the directory of the data."""
    return Path(conf.image.store_path)


@pytest.fixture
def address(images: Images) -> Iterator[tuple[str, int]]:
    """Serve the API on a port; return its address."""
    with serving(images.app) as server:
        yield server.address
