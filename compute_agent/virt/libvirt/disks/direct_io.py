"""Direct I/O of a file system, which a shared directory needs for migrations of running guests.

A host's page cache may hold blocks that the other host has written; libvirt refuses to migrate a
guest whose disks go through it.
"""

import os
import tempfile
from pathlib import Path


def is_supported(directory: Path) -> bool:
    """Return whether files in a directory can be opened past the page cache."""
    try:
        with tempfile.NamedTemporaryFile(dir=directory, prefix=".direct-") as file:
            os.close(os.open(file.name, os.O_RDWR | os.O_DIRECT | os.O_CLOEXEC))
    except OSError:
        return False
    return True
