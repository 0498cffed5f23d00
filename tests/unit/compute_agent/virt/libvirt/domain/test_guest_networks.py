"""Networks of guests."""

from pathlib import Path
from typing import Any

import pytest

from armillary import exception
from compute_agent.virt.libvirt.domain import guest_networks
from tests import builders
from tests.fixtures.libvirt.libvirt_hosts import host_conf, libvirt_library, make_host

TEST = {"connection_uri": "test:///default", "virt_type": "test"}


@pytest.mark.parametrize(
    ("options", "network"),
    [
        ({}, None),
        ({"network": "all"}, "all"),
        ({"network": "all", "project_networks": {"ours": "project"}}, "project"),
        (
            {"project_networks": {"ours": "project"}, "flavor_networks": {"small": "flavor"}},
            "flavor",
        ),
        ({"network": "all", "project_networks": {"theirs": "project"}}, "all"),
    ],
    ids=["none", "all", "project", "flavor", "another project"],
)
def test_a_guest_is_in_the_most_particular_network(
    tmp_path: Path, options: dict[str, Any], network: str | None
) -> None:
    """And has an address if it is in one."""
    conf = host_conf("a", tmp_path, **options)
    guest = builders.an_instance(project_id="ours", flavor=builders.a_flavor("small"))
    assert guest_networks.network_of(guest, conf) == network
    assert len(guest_networks.macs_of(guest, conf)) == (network is not None)


@pytest.mark.libvirt
def test_a_network_that_is_missing_is_named(tmp_path: Path) -> None:
    """Before a guest is built there, whose start would fail."""
    libvirt_library()
    conf = host_conf("a", tmp_path, **TEST, project_networks={"ours": "nowhere"})
    with pytest.raises(exception.ConfigurationError, match="none of the name nowhere"):
        make_host(conf)
    make_host(host_conf("a", tmp_path, **TEST, network="default")).close()
