"""Contents of config drives, in both layouts."""

import base64
import json
from typing import Any

import pytest
import yaml

from compute_agent.virt import config_drive, nocloud
from objects.instance import Instance
from objects.instances.server_settings import ServerSettings
from tests import builders

MAC = "52:54:00:00:00:01"
KEY = "ssh-ed25519 AAAA someone"


def an_instance(**settings: Any) -> Instance:
    return builders.an_instance(
        name="Web 1", metadata={"tier": "front"}, settings=ServerSettings.from_values(**settings)
    )


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_openstack_s_layout_has_a_link_for_each_interface() -> None:
    """With its address, and a network that asks for its own by DHCP."""
    made = config_drive.contents(an_instance(), [MAC])
    told = json.loads(made["openstack/latest/network_data.json"])
    assert [link["ethernet_mac_address"] for link in told["links"]] == [MAC]
    assert [(net["type"], net["link"]) for net in told["networks"]] == [
        ("ipv4_dhcp", told["links"][0]["id"])
    ]


def test_without_interfaces_openstack_s_layout_has_no_network() -> None:
    made = config_drive.contents(an_instance())
    assert json.loads(made["openstack/latest/network_data.json"]) == {
        "links": [], "networks": [], "services": [],
    }  # fmt: skip


def test_nocloud_s_layout_tells_the_same() -> None:
    """Name, key, metadata, user data, password, files and the network."""
    instance = an_instance(
        user_data=encoded("#!/bin/sh\n"), public_key=KEY, admin_password="opensesame",
        files={"/etc/motd": encoded("hello")},
    )  # fmt: skip
    made = nocloud.contents(instance, [MAC])
    meta, vendor = json.loads(made["meta-data"]), made["vendor-data"].decode()
    assert (meta["instance-id"], meta["local-hostname"]) == (instance.uuid, "web-1")
    assert (meta["public-keys"], meta["meta"]) == ([KEY], {"tier": "front"})
    assert made["user-data"] == b"#!/bin/sh\n"
    assert vendor.startswith("#cloud-config\n")
    assert json.loads(vendor.partition("\n")[2]) == {
        "write_files": [{"path": "/etc/motd", "encoding": "b64", "content": encoded("hello")}],
        "password": "opensesame",
        "chpasswd": {"expire": False},
    }
    (ethernet,) = json.loads(made["network-config"])["ethernets"].values()
    assert ethernet == {"match": {"macaddress": MAC}, "dhcp4": True}


@pytest.mark.parametrize("text", ["\U0001f642 ü\u4e3b", '\x7f\x85\u2028"\\\n', "\\ud83d\\ude42"])
def test_nocloud_s_layout_has_any_text_as_yaml(text: str) -> None:
    """cloud-init reads it so, and would fail at half a character."""
    instance = an_instance(public_key=text, admin_password=text).with_values(metadata={text: text})
    made = nocloud.contents(instance)
    meta, vendor = (yaml.safe_load(made[name]) for name in ("meta-data", "vendor-data"))
    assert (meta["meta"], meta["public-keys"]) == ({text: text}, [text])
    assert vendor["password"] == text


def test_nocloud_s_layout_always_has_all_files() -> None:
    """cloud-init takes a file system without user-data for none of its own."""
    made = nocloud.contents(an_instance())
    assert made["user-data"] == b""
    assert set(made) == {"meta-data", "user-data", "vendor-data", "network-config"}


@pytest.mark.parametrize("demand", ["mandatory", "optional", None])
def test_an_image_may_need_a_config_drive(demand: str | None) -> None:
    """Also that of a rebuild, which the settings of the server do not know."""
    properties = {} if demand is None else {"img_config_drive": demand}
    instance = builders.an_instance(image=builders.an_image(properties=properties))
    assert config_drive.is_wanted(instance) is (demand == "mandatory")
    assert config_drive.is_wanted(an_instance(user_data=encoded("#!/bin/sh")))
