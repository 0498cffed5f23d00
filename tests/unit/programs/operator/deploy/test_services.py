"""Configuration that deploy writes: where hosts reach the image service."""

from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg
from oslo_messaging import TransportURL

from programs.operator.deploy.layout import Layout
from programs.operator.deploy.record import Record, Settings
from programs.operator.deploy.services import Services


def services(**settings: Any) -> Services:
    record = Record(Settings(**settings))
    record.add_cell("cell1", is_here=True)
    names = ("api", "cell0", "placement", "cell_cell1")
    return Services(record, Layout(Path("/")), dict.fromkeys(names, "sqlite://"))


@pytest.mark.parametrize(
    ("settings", "endpoint", "is_local"),
    [
        ({}, "http://127.0.0.1:8774/image", True),
        ({"api": "0.0.0.0:80"}, "http://127.0.0.1:80/image", True),
        ({"api": "[::]:80"}, "http://[::1]:80/image", True),
        ({"api": "10.0.0.1:8774"}, "http://10.0.0.1:8774/image", False),
        ({"api": "[fd00::1]:8774"}, "http://[fd00::1]:8774/image", False),
        ({"outside_api": "https://api.example.org/"}, "https://api.example.org/image", False),
    ],
    ids=["this machine", "all addresses", "all of IPv6", "an address", "IPv6", "a proxy"],
)
def test_hosts_are_told_where_the_image_service_is(
    settings: dict[str, str], endpoint: str, is_local: bool
) -> None:
    """By the super conductor, with each ticket; no agent has an option for it."""
    made = services(**settings)
    found = {each.name: each.options.get("image") for each in made.here()}
    assert found.pop("conductor") == {"endpoint": endpoint}
    assert set(found.values()) == {None}
    assert made.has_local_api is is_local


@pytest.mark.parametrize(
    ("placement", "endpoint"),
    [
        ("127.0.0.1:8778", "placement:http://127.0.0.1:8778"),
        ("[fd00::1]:8778", "placement:http://[fd00::1]:8778"),
        ("0.0.0.0:8778", None),
        ("[::]:8778", None),
        ("0.0.0.0:9000", "placement:http://127.0.0.1:9000"),
    ],
)
def test_the_catalogue_has_an_address_of_placement_that_clients_can_reach(
    placement: str, endpoint: str | None
) -> None:
    """Where it listens at all addresses, clients are told the one at which they found the API."""
    api = next(each for each in services(placement=placement).here() if each.name == "api")
    assert api.options["identity"].get("endpoints") == endpoint


@pytest.mark.parametrize("host", ["rack1:4", "a@b"])
def test_no_name_of_a_host_changes_where_its_agent_connects(host: str) -> None:
    """Nor the account or the password with which it does."""
    made = services(broker="192.0.2.1:5672")
    url = TransportURL.parse(cfg.ConfigOpts(), made.cell_url("cell1", "compute", host))
    (found,) = url.hosts
    assert (found.hostname, found.port, url.virtual_host) == ("192.0.2.1", 5672, "cell1")
    assert found.username == f"compute-{host}"
    assert found.password == made.record.secrets[f"broker/compute-{host}"]
