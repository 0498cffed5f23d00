"""Config drives as disks."""

from pathlib import Path
from typing import Any

import pytest
from oslo_config import cfg

from compute_agent.virt.libvirt.disks import config_disks
from compute_agent.virt.libvirt.disks.qemu_img import DiskError
from objects.instance import Instance
from objects.instances.server_settings import ServerSettings
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import host_conf
from tests.fixtures.services import leave_out

LABEL = slice(32808, 32840)
"""Bytes of an ISO 9660 file system with its label."""


@pytest.fixture
def program() -> None:
    if config_disks.program() is None:
        leave_out("libvirt", "there is no genisoimage")


def conf(directory: Path, **options: Any) -> cfg.ConfigOpts:
    return host_conf("a", directory, **options)


def an_instance(**settings: Any) -> Instance:
    return builders.an_instance(settings=ServerSettings.from_values(**settings))


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(("layout", "label"), [("openstack", "config-2"), ("nocloud", "cidata")])
def test_a_config_drive_has_the_label_of_its_layout(
    tmp_path: Path, layout: str, label: str
) -> None:
    options = conf(tmp_path, config_drive_layout=layout)
    data = config_disks.content(tmp_path, an_instance(), options)
    assert data[LABEL].decode().strip() == label


def test_a_host_without_the_program_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The build fails; nothing that the user said is dropped without a word."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DiskError, match="needs a config drive, and this host has none of"):
        config_disks.content(tmp_path, an_instance(user_data="eA=="), conf(tmp_path))


@pytest.mark.parametrize(
    ("settings", "is_forced", "expected"),
    [
        ({}, False, False),
        ({}, True, True),
        ({"config_drive": True}, False, True),
        ({"user_data": "eA=="}, False, True),
        ({"public_key": "ssh-ed25519 AAAA"}, False, True),
    ],
    ids=["nothing", "forced", "asked for", "user data", "key"],
)
def test_a_guest_gets_one_if_there_is_something_to_tell(
    tmp_path: Path, settings: dict[str, Any], is_forced: bool, expected: bool
) -> None:
    options = conf(tmp_path, force_config_drive=is_forced)
    assert config_disks.is_wanted(an_instance(**settings), options) is expected
