"""The whole system with libvirt's test driver: what users ask of virtual machines, and get."""

from collections.abc import Iterator

import pytest

from tests.fixtures.asking import Api, wait_for
from tests.fixtures.checks.ledger import delete_everything
from tests.fixtures.embedded import embedded_system
from tests.fixtures.libvirt.libvirt_hosts import IMAGE_NAME, libvirt_library, write_image

pytestmark = pytest.mark.sampled_file(every=3)

DEVICE = """
<device><name>pci_0000_06_{slot:02x}_{function}</name><parent>computer</parent>
<capability type='pci'><domain>0</domain><bus>6</bus><slot>{slot}</slot>
<function>{function}</function><product id='0x{product}'>82599</product>
<vendor id='0x8086'>Intel</vendor><capability type='{kind}'>
<address domain='0x0000' bus='0x06' slot='0x{other:02x}' function='0x0'/></capability>
<numa node='0'/></capability></device>
"""
CARD = {"slot": 0, "function": 0, "product": "10fb", "kind": "virt_functions", "other": 16}
FUNCTION = {"slot": 16, "product": "10ed", "kind": "phys_function", "other": 0}
COUNTED = "CUSTOM_PCI_8086_10ED"


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """Lend a host with a card that has two virtual functions."""
    libvirt_library()
    folder = tmp_path_factory.mktemp("libvirt")
    write_image(folder / "images")
    devices = [DEVICE.format(**CARD)]
    devices += [DEVICE.format(**FUNCTION, function=number) for number in range(2)]
    node = folder / "node.xml"
    node.write_text(f"<node>{''.join(devices)}</node>", encoding="utf-8")
    with embedded_system(
        folder,
        hosts=1,
        compute__driver=["libvirt"],
        libvirt__connection_uri=f"test://{node}",
        libvirt__virt_type="test",
        libvirt__images_type="raw",
        pci__device_spec=['{"vendor_id": "8086", "product_id": "10ed"}'],
        pci__report_in_placement=True,
        pci__alias=['{"name": "vf", "vendor_id": "8086", "product_id": "10ed",'
                    ' "device_type": "type-VF"}'],
        filter_scheduler__pci_in_placement=True,
    ) as api:  # fmt: skip
        yield api
        delete_everything(api)


@pytest.fixture
def image(system: Api) -> str:
    return an_image(system)


def an_image(system: Api, **properties: str) -> str:
    given = {"libvirt_disk_file": IMAGE_NAME, **properties}
    made: str = system.post("/images", {"image": {"name": "hello", "properties": given}})["image"][
        "id"
    ]
    return made


def a_flavor(system: Api, name: str, **extra_specs: str) -> str:
    """Make a flavor; such a host of libvirt's test driver has no CPUs."""
    flavor = system.create_flavor(name, vcpus=2, ram=64, disk=1)
    specs = {key.replace("__", ":"): value for key, value in extra_specs.items()}
    specs["resources:VCPU"] = "0"
    system.post(f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
    return flavor


def outcome(system: Api, flavor: str, image: str) -> tuple[str, str, str]:
    """Have a server built; return its UUID, status, and the reason of a failure."""
    (uuid,) = system.create_servers(flavor, 1, imageRef=image)
    server = system.settled([uuid])[uuid]
    return uuid, server["status"], str(server.get("fault", "")) + str(system.why(uuid))


def test_virtual_functions_go_to_servers_until_none_is_left(system: Api, image: str) -> None:
    """Each to one; a deleted server makes room again."""
    flavor = a_flavor(system, "with-vf", pci_passthrough__alias="vf:1")
    wait_for(lambda: can_be_built(system, flavor, image, 2), "both functions are free", 30)
    built = [outcome(system, flavor, image) for _ in range(2)]
    assert [status for _, status, _ in built] == ["ACTIVE", "ACTIVE"], built
    uuids = [uuid for uuid, _, _ in built]
    held = system.allocations()
    assert {uuid: sum(one.get(COUNTED, 0) for one in held[uuid].values()) for uuid in uuids} == (
        dict.fromkeys(uuids, 1)
    )
    _, status, reason = outcome(system, flavor, image)
    assert status == "ERROR", reason
    assert system.request("DELETE", f"/servers/{uuids[0]}").status_code == 204
    wait_for(lambda: can_be_built(system, flavor, image, 1), "a function is free", 30)
    assert outcome(system, flavor, image)[1] == "ACTIVE"


def can_be_built(system: Api, flavor: str, image: str, count: int) -> bool:
    server = {"flavorRef": flavor, "imageRef": image, "min_count": count, "max_count": count}
    response = system.request("POST", "/armillary/dry-run", json={"server": server})
    return bool(response.ok and response.json()["dry_run"]["hosts"])


@pytest.mark.parametrize(
    ("properties", "extra_specs", "named"),
    [
        ({"hw_magic": "yes"}, {}, "hw_magic"),
        ({}, {"hw__pmem": "6GB"}, "hw:pmem"),
        ({"hw_cpu_sockets": "3"}, {}, "cpu_sockets 3"),
    ],
)
def test_what_no_guest_can_have_is_named(
    system: Api, properties: dict[str, str], extra_specs: dict[str, str], named: str
) -> None:
    """The image has no disk format: it is a virtual machine's by its file."""
    flavor = a_flavor(system, f"asks-{named}", **extra_specs)
    _, status, reason = outcome(system, flavor, an_image(system, **properties))
    assert status == "ERROR"
    assert named in reason
