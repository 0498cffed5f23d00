"""``openstack --os-cloud armillary``: what a newcomer types after ``armillary up``."""

import secrets
from pathlib import Path

import pytest
import yaml

from tests.clients.cloud import NEWEST, Cloud, needs

pytestmark = [pytest.mark.long, needs(NEWEST)]


@pytest.fixture(scope="module")
def cloud(clouds: Path) -> Cloud:
    """Return the newest client's view of the deployment."""
    return Cloud(clouds, NEWEST)


def test_a_login_finds_all_services(cloud: Cloud) -> None:
    """A token, the catalogue, and names of accounts."""
    assert cloud.show("token", "issue")["project_id"] == "admin"
    kinds = {service["Type"] for service in cloud.show("catalog", "list")}
    assert kinds == {"identity", "compute", "image", "placement"}
    for noun in ("project", "user", "role"):
        assert "admin" in cloud.names(noun, "list")
    assert cloud.show("project", "show", "admin")["id"] == "admin"
    assert cloud.show("endpoint", "list", "--service", "image")
    assert cloud.show("role", "assignment", "list", "--names")


def test_a_program_logs_in_with_an_application_credential(cloud: Cloud, clouds: Path) -> None:
    """Made, listed, shown and deleted by the user; what it may not do is refused."""
    words = ("application", "credential")
    made = cloud.show(*words, "create", "--role", "reader", "--description", "of the build", "ci")
    assert cloud.names(*words, "list") == {"ci"}
    assert cloud.show(*words, "show", "ci")["Project ID"] == "admin"
    auth = yaml.safe_load(clouds.read_text())["clouds"]["armillary"]["auth"]
    login = {
        "auth_type": "v3applicationcredential",
        "auth": {
            "auth_url": auth["auth_url"],
            "application_credential_id": made["ID"],
            "application_credential_secret": made["Secret"],
        },
    }
    code = (
        f"cloud = openstack.connection.Connection(**{login!r});"
        "print(type(list(cloud.compute.servers())).__name__, cloud.current_project_id);"
        "print(cloud.compute.post('/flavors', json={}).status_code)"
    )
    assert cloud.python(code).split() == ["list", "admin", "403"]
    cloud.run(*words, "delete", "ci")
    assert cloud.show(*words, "list") == []


def test_an_image_goes_through_its_life(cloud: Cloud, tmp_path: Path) -> None:
    """Create, change, show, list, download, delete."""
    data, back = tmp_path / "data", tmp_path / "back"
    data.write_bytes(secrets.token_bytes(1_000_000))
    made = cloud.show(
        "image", "create", "--file", str(data), "--disk-format", "raw", "--tag", "t", "disk"
    )
    assert (made["status"], made["size"]) == ("active", 1_000_000)
    cloud.run("image", "set", "--property", "a=b", "--min-ram", "64", "--name", "disk2", "disk")
    shown = cloud.show("image", "show", "disk2")
    assert (shown["properties"]["a"], shown["min_ram"], shown["tags"]) == ("b", 64, ["t"])
    cloud.run("image", "unset", "--property", "a", "--tag", "t", "disk2")
    cloud.run("image", "save", "--file", str(back), "disk2")
    assert back.read_bytes() == data.read_bytes()
    cloud.run("image", "set", "--protected", "disk2")
    cloud.run("image", "set", "--unprotected", "--deactivate", "disk2")
    assert "disk2" in cloud.names("image", "list")
    cloud.run("image", "delete", "disk2")
    assert "disk2" not in cloud.names("image", "list")


def test_an_image_is_shared_and_accepted(cloud: Cloud) -> None:
    """With a project, by name, which an administrator answers for."""
    cloud.run("project", "create", "friends")
    friends = cloud.show("project", "show", "friends")["id"]
    cloud.run("image", "create", "--shared", "--property", "img_hv_type=simulated", "common")
    cloud.run("image", "add", "project", "common", "friends")
    cloud.run("image", "set", "--accept", "--project", friends, "common")
    (member,) = cloud.show("image", "member", "list", "common")
    assert (member["Member ID"], member["Status"]) == (friends, "accepted")
    cloud.run("image", "remove", "project", "common", "friends")
    assert cloud.show("image", "member", "list", "common") == []
    cloud.run("image", "delete", "common")


def test_a_server_is_built_from_such_an_image(cloud: Cloud) -> None:
    """Flavor, image, server: created, listed, shown, deleted."""
    cloud.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "tiny")
    cloud.run("image", "create", "--property", "img_hv_type=simulated", "--public", "nothing")
    made = cloud.show(
        "server", "create", "--flavor", "tiny", "--image", "nothing", "--nic", "none", "--wait", "a"
    )
    assert made["status"] == "ACTIVE"
    assert "a" in cloud.names("server", "list")
    assert cloud.show("server", "show", "a")["OS-EXT-SRV-ATTR:host"].startswith("sim-")
    cloud.run("server", "delete", "--wait", "a")
    assert "a" not in cloud.names("server", "list")


def test_placement_is_in_the_catalogue(cloud: Cloud) -> None:
    """Hosts are its resource providers."""
    names = {row["name"] for row in cloud.show("resource", "provider", "list")}
    assert names == {"sim-1", "sim-2"}


def test_the_sdk_waits_for_a_server_and_keeps_it(cloud: Cloud) -> None:
    """It deletes servers without an address, and adds floating IPs to those with a private one."""
    cloud.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "small")
    cloud.run("image", "create", "--property", "img_hv_type=simulated", "--public", "empty")
    made = cloud.python(
        "made = openstack.connect(cloud='armillary').create_server("
        "'sdk', image='empty', flavor='small', wait=True, timeout=60);"
        "print(made.status, made.interface_ip in str(made.addresses))"
    )
    assert made.split() == ["ACTIVE", "True"]
    cloud.run("server", "delete", "--wait", "sdk")
