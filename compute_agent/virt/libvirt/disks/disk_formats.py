"""File system and swap area of a guest's further disks, by which the guest finds them."""

from pathlib import Path

from compute_agent.virt.libvirt.disks import programs

EPHEMERAL_LABEL, SWAP_LABEL = "ephemeral0", "swap0"


def make_file_system(path: Path) -> None:
    """Make an ext4 file system on an empty disk. Raises DiskError."""
    programs.run("mkfs.ext4", "-q", "-F", "-L", EPHEMERAL_LABEL, str(path))


def make_swap(path: Path) -> None:
    """Prepare a whole disk as swap; what is there is lost. Raises DiskError."""
    programs.run("mkswap", "-q", "-L", SWAP_LABEL, str(path))
