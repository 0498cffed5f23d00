"""Other hosts are reached as we say, not as they do."""

from pathlib import Path

import pytest

from compute_agent.virt.libvirt.moves import remote_uris
from compute_agent.virt.libvirt.moves.remote_uris import UnknownPeer
from tests.fixtures.libvirt.libvirt_hosts import host_conf


@pytest.mark.parametrize(
    ("address", "uri"),
    [
        ("host-2.example.org", "qemu+tls://host-2.example.org/system"),
        ("192.0.2.9", "qemu+tls://192.0.2.9/system"),
        ("2001:db8::9", "qemu+tls://[2001:db8::9]/system"),
    ],
)
def test_an_address_goes_into_the_uri(tmp_path: Path, address: str, uri: str) -> None:
    assert remote_uris.daemon_uri(host_conf("a", tmp_path), address) == uri


@pytest.mark.parametrize(
    "address", ["", "x/system?command=/bin/sh", "a b", "-oProxyCommand", "a" * 300]
)
def test_what_is_not_an_address_is_refused(tmp_path: Path, address: str) -> None:
    """libvirt's URIs can name programs to run."""
    with pytest.raises(UnknownPeer):
        remote_uris.data_uri(host_conf("a", tmp_path), address)


def test_a_host_says_where_it_is(tmp_path: Path) -> None:
    assert remote_uris.own_address(host_conf("a", tmp_path)) == "192.0.2.7"
    conf = host_conf("a", tmp_path, live_migration_inbound_addr="moves.example.org")
    assert remote_uris.own_address(conf) == "moves.example.org"
