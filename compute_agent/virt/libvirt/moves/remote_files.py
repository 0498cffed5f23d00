"""Download of a guest's files from its former host, by that host's libvirt daemon."""

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from xml.etree.ElementTree import Element, SubElement

from armillary.files import private_files
from compute_agent.virt.libvirt.domain import xml_text


def fetch(library: Any, uri: str, pool_name: str, directory: str, wanted: Sequence[Path]) -> None:
    """Download files by name from a directory there. Raises libvirtError, OSError."""
    source = library.open(uri)
    try:
        with _pool(library, source, pool_name, directory) as pool:
            for path in wanted:
                _download(library, source, pool.storageVolLookupByName(path.name), path)
    finally:
        source.close()


def fetch_existing(
    library: Any, uri: str, pool_name: str, directory: str, wanted: Mapping[str, Path]
) -> None:
    """Download those of some files that exist there, to other names. Raises as ``fetch``."""
    source = library.open(uri)
    try:
        with _pool(library, source, pool_name, directory) as pool:
            present = set(pool.listVolumes())
            for name, path in wanted.items():
                if name in present:
                    _download(library, source, pool.storageVolLookupByName(name), path)
    finally:
        source.close()


def fetch_volume(
    library: Any, uri: str, pool_name: str, directory: str, name: str, device: Path
) -> None:
    """Write a disk in a directory there to a device here that is full of zeros.

    Raises as ``fetch``.
    """
    source = library.open(uri)
    try:
        with _pool(library, source, pool_name, directory) as pool, device.open("r+b") as file:
            _receive(library, source, pool.storageVolLookupByName(name), file)
    finally:
        source.close()


@contextlib.contextmanager
def _pool(library: Any, source: Any, name: str, directory: str) -> Iterator[Any]:
    """Create a temporary storage pool for a directory of the remote daemon."""
    _forget_pool(library, source, name)  # left over from a crash
    root = Element("pool", {"type": "dir"})
    SubElement(root, "name").text = name
    SubElement(SubElement(root, "target"), "path").text = directory
    pool = source.storagePoolCreateXML(xml_text.write(root), 0)
    try:
        yield pool
    finally:
        with contextlib.suppress(library.libvirtError):  # the copy is complete
            pool.destroy()


def _forget_pool(library: Any, source: Any, name: str) -> None:
    with contextlib.suppress(library.libvirtError):
        source.storagePoolLookupByName(name).destroy()


def _download(library: Any, source: Any, volume: Any, path: Path) -> None:
    begun = path.with_name(f"{path.name}.begun")
    with open(begun, "wb", opener=private_files.opener) as file:
        _receive(library, source, volume, file)
        file.truncate(file.tell())  # the file may end with a hole
    begun.replace(path)


def _receive(library: Any, source: Any, volume: Any, file: BinaryIO) -> None:
    stream = source.newStream(0)
    try:
        volume.download(stream, 0, 0, library.VIR_STORAGE_VOL_DOWNLOAD_SPARSE_STREAM)
        stream.sparseRecvAll(_write, _skip, file)
    except BaseException:
        with contextlib.suppress(library.libvirtError):
            stream.abort()
        raise
    stream.finish()


def _write(_stream: Any, data: bytes, file: BinaryIO) -> int:
    return file.write(data)


def _skip(_stream: Any, length: int, file: BinaryIO) -> int:
    file.seek(length, os.SEEK_CUR)
    return 0
