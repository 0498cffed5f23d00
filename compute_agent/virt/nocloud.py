"""Contents of a config drive in the layout of cloud-init's data source NoCloud.

Its files are JSON, which YAML includes, except for the escapes of characters beyond U+FFFF. The
layout has no injected files: instructions in ``vendor-data`` write them, after those of the user.
"""

import json
import re
from collections.abc import Sequence

from compute_agent.virt.config_drive import decoded
from objects.instance import Instance
from objects.instances.guest_names import hostname_of
from objects.instances.server_settings import ServerSettings

LABEL = "cidata"
"""Label of a file system with these files, by which programs find it."""

_OTHERS = re.compile(r"[^\x20-\x7e]")
"""Characters to escape as YAML does: JSON writes some as two, and YAML reads those as two."""
_CLOUD_CONFIG = b"#cloud-config\n"


def contents(instance: Instance, macs: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files by name; interfaces with ``macs`` are to be configured by DHCP."""
    settings = instance.settings or ServerSettings.from_values()
    return {
        "meta-data": _yaml(_meta_data(instance, settings)),
        "user-data": decoded(settings.user_data or ""),
        "vendor-data": _CLOUD_CONFIG + _yaml(_vendor_data(settings)),
        "network-config": _yaml(_network_config(macs)),
    }


def _meta_data(instance: Instance, settings: ServerSettings) -> dict[str, object]:
    made: dict[str, object] = {
        "instance-id": instance.uuid,
        "local-hostname": hostname_of(instance),
        "availability-zone": instance.availability_zone,
        "launch-index": instance.launch_index,
        "project-id": instance.project_id,
        "meta": instance.metadata,
    }
    if settings.public_key is not None:
        made["public-keys"] = [settings.public_key]
    return made


def _vendor_data(settings: ServerSettings) -> dict[str, object]:
    made: dict[str, object] = {}
    if settings.files:
        made["write_files"] = [
            {"path": path, "encoding": "b64", "content": data}
            for path, data in settings.files.items()
        ]
    if settings.admin_password is not None:
        made |= {"password": settings.admin_password, "chpasswd": {"expire": False}}
    return made


def _network_config(macs: Sequence[str]) -> dict[str, object]:
    ethernets = {
        f"interface{n}": {"match": {"macaddress": mac}, "dhcp4": True} for n, mac in enumerate(macs)
    }
    return {"version": 2, "ethernets": ethernets}


def _yaml(value: dict[str, object]) -> bytes:
    text = json.dumps(value, ensure_ascii=False)
    return _OTHERS.sub(lambda found: f"\\U{ord(found[0]):08x}", text).encode() + b"\n"
