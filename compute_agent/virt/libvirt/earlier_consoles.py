"""Console logs that follow a guest to another host, after it has moved there alive.

Where they are is noted when the move is prepared; they are fetched when the guest has arrived,
since it writes until then. A move does not fail because a log is missing.
"""

import json
import logging
from pathlib import Path, PurePosixPath
from typing import Any

from oslo_config import cfg

from armillary.files import private_files
from compute_agent.virt.libvirt.disks.instance_files import CONSOLES, InstanceFiles
from compute_agent.virt.libvirt.moves import remote_files, remote_uris
from compute_agent.virt.libvirt.moves.payloads import LiveSource

LOG = logging.getLogger(__name__)

NOTE = "arrival.json"
_FETCHED = "fetched-"


def note_source(files: InstanceFiles, source: LiveSource) -> None:
    """Note where the log of a guest that is to arrive is. Raises OSError."""
    if source.address is None or source.directory is None:
        return
    if PurePosixPath(source.directory).name != files.uuid:
        return
    told = {"address": source.address, "directory": source.directory}
    private_files.write(files.directory / NOTE, json.dumps(told))


def fetch(files: InstanceFiles, library: Any, conf: cfg.ConfigOpts) -> None:
    """Fetch the log of a guest that has arrived, once. Raises OSError."""
    note = files.directory / NOTE
    try:
        told = json.loads(note.read_text(encoding="utf-8"))
        uri = remote_uris.daemon_uri(conf, told["address"])
        wanted = {name: files.directory / f"{_FETCHED}{name}" for name in CONSOLES}
        remote_files.fetch_existing(
            library, uri, f"armillary-console-{files.uuid}", told["directory"], wanted
        )
        files.keep_earlier_console(list(wanted.values()))
    except FileNotFoundError:
        return
    except (library.libvirtError, remote_uris.UnknownPeer, KeyError, ValueError) as error:
        LOG.warning("%s: what it wrote on its former host is lost: %s", files.uuid, error)
    Path(note).unlink(missing_ok=True)
