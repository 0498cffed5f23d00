"""PCI devices of this machine, from ``/sys/bus/pci/devices``."""

import contextlib
from pathlib import Path

from compute_agent.host.pci_devices import PCI, PHYSICAL_FUNCTION, VIRTUAL_FUNCTION, PciDevice

DEVICES = Path("/sys/bus/pci/devices")


def devices(directory: Path = DEVICES) -> list[PciDevice]:
    """Return all PCI devices, ordered by address; empty if the system has no PCI bus."""
    if not directory.is_dir():
        return []
    found = []
    for path in sorted(directory.iterdir()):
        with contextlib.suppress(FileNotFoundError):  # removed while scanning
            found.append(_device(path))
    return found


def _device(path: Path) -> PciDevice:
    numa_node = int(_text(path / "numa_node") or -1)
    return PciDevice(
        address=path.name,
        vendor_id=_hex(path / "vendor"),
        product_id=_hex(path / "device"),
        dev_type=_dev_type(path),
        numa_node=numa_node if numa_node >= 0 else None,
        parent=(path / "physfn").resolve().name if (path / "physfn").exists() else None,
    )


def _dev_type(path: Path) -> str:
    if (path / "physfn").exists():
        return VIRTUAL_FUNCTION
    return PHYSICAL_FUNCTION if int(_text(path / "sriov_totalvfs") or 0) else PCI


def _hex(path: Path) -> str:
    """Return an id as four digits; the kernel writes it as 0x8086."""
    return f"{int(path.read_text(encoding='ascii'), 16):04x}"


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
