"""Requests for what only some hosts have: the request filters find them by their traits."""

import pytest

from tests.fixtures.asking import wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.embedded import embedded_system

pytestmark = pytest.mark.sampled_file(every=3)

TRAITS = (
    "COMPUTE_ACCELERATORS", "COMPUTE_NET_VIRTIO_PACKED", "COMPUTE_REMOTE_MANAGED_PORTS",
    "COMPUTE_EPHEMERAL_ENCRYPTION", "COMPUTE_EPHEMERAL_ENCRYPTION_LUKS",
    "COMPUTE_SOUND_MODEL_VIRTIO", "COMPUTE_SECURITY_TPM_SECRET_SECURITY_USER",
    "COMPUTE_SECURITY_TPM_2_0",
)  # fmt: skip
HOSTS = [
    "name=plain-{1..2}:vcpus=64:memory_mb=131072:disk_gb=1000",
    f"name=able:vcpus=16:memory_mb=16384:disk_gb=100:traits={'+'.join(TRAITS)}",
]
A_NETWORK = "4f2c1f6e-6d1c-4ad6-9f3a-0c9f4b0a7a11"
REQUESTS = {
    "device profile": ({"accel:device_profile": "gpu"}, {}),
    "packed virtqueues": ({"hw:virtio_packed_ring": "true"}, {}),
    "remote managed port": ({}, {"networks": [{"uuid": A_NETWORK, "remote_managed": True}]}),
    "encrypted disks": (
        {"hw:ephemeral_encryption": "true", "hw:ephemeral_encryption_format": "luks"}, {},
    ),
    "sound": ({"hw:sound_model": "virtio"}, {}),
    "virtual TPM": ({"hw:tpm_version": "2.0"}, {}),
}  # fmt: skip
"""What is asked: extra specs of the flavor, and more of the request."""


@pytest.fixture(scope="module")
def system(tmp_path_factory):
    with embedded_system(tmp_path_factory.mktemp("traits"), hosts=3, simulated__hosts=HOSTS) as api:
        yield api
        delete_everything(api)


def flavor_with(system, name, extra_specs):
    flavor_id = system.create_flavor(name, vcpus=1, ram=512)
    if extra_specs:
        system.post(f"/flavors/{flavor_id}/os-extra_specs", {"extra_specs": extra_specs})
    return flavor_id


@pytest.fixture(scope="module")
def plain(system):
    """Return a flavor without demands, once the scheduler knows both kinds of hosts."""
    plain = flavor_with(system, "plain", {})
    able = flavor_with(system, "able", {f"trait:{TRAITS[0]}": "required"})

    def has_host(flavor):
        response = system.request(
            "POST", "/armillary/dry-run", json={"server": {"flavorRef": flavor}}
        )
        return response.ok and response.json()["dry_run"]["hosts"]

    for flavor in (plain, able):
        wait_for(lambda flavor=flavor: has_host(flavor), "it has a host", 30)
    return plain


def host_of(system, flavor, **more):
    (uuid,) = system.create_servers(flavor, 1, **more)
    server = system.settled([uuid])[uuid]
    return server["status"], server["OS-EXT-SRV-ATTR:host"]


@pytest.mark.parametrize("name", REQUESTS)
def test_a_demand_finds_the_one_host_that_can_serve_it(system, plain, name):
    """All others have more room, and would be preferred."""
    extra_specs, more = REQUESTS[name]
    flavor = flavor_with(system, name, extra_specs)
    assert host_of(system, flavor, **more) == ("ACTIVE", "able")
    assert host_of(system, plain)[1].startswith("plain-")
