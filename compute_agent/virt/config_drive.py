"""Contents of a config drive: what a guest is told, as files in OpenStack's layout.

A driver writes them where its guests find them: a disk, or a directory. Programs such as
cloud-init read this layout.
"""

import base64
import json
import secrets
from collections.abc import Sequence

from objects.instance import Instance
from objects.instances.guest_names import hostname_of
from objects.instances.server_settings import ServerSettings

LABEL = "config-2"
"""Label of a file system with these files, by which programs find it."""
SEED_BYTES = 512

_PROPERTY = "img_config_drive"
_LATEST = "openstack/latest"
_CONTENT = "openstack/content"


def is_wanted(instance: Instance) -> bool:
    """Return whether a guest needs a config drive: it is told something, or its image needs one.

    That may be the image of a rebuild, which the user's settings do not know.
    """
    image = instance.image
    if image is not None and image.properties.get(_PROPERTY) == "mandatory":
        return True
    return instance.settings is not None and instance.settings.is_for_guest


def contents(instance: Instance, macs: Sequence[str] = ()) -> dict[str, bytes]:
    """Return the files of a config drive by path, relative and with slashes.

    ``macs`` are the addresses of the guest's interfaces, which are to be configured by DHCP. Paths
    that users chose are values in ``meta_data.json``; no file is named after one.
    """
    settings = instance.settings or ServerSettings.from_values()
    stored = {f"{_CONTENT}/{n:04d}": data for n, data in enumerate(settings.files.values())}
    made = {
        f"{_LATEST}/meta_data.json": _json(_meta_data(instance, settings)),
        f"{_LATEST}/network_data.json": _json(_network_data(macs)),
        f"{_LATEST}/vendor_data.json": _json({}),
        **{path: decoded(data) for path, data in stored.items()},
    }
    if settings.user_data:
        made[f"{_LATEST}/user_data"] = decoded(settings.user_data)
    return made


def _meta_data(instance: Instance, settings: ServerSettings) -> dict[str, object]:
    made: dict[str, object] = {
        "uuid": instance.uuid,
        "name": instance.name,
        "hostname": hostname_of(instance),
        "launch_index": instance.launch_index,
        "availability_zone": instance.availability_zone,
        "project_id": instance.project_id,
        "meta": instance.metadata,
        "devices": [],
        "random_seed": base64.b64encode(secrets.token_bytes(SEED_BYTES)).decode(),
    }
    if settings.public_key is not None:
        name, kind = settings.key_name or "key", settings.key_kind or "ssh"
        made["public_keys"] = {name: settings.public_key}
        made["keys"] = [{"name": name, "type": kind, "data": settings.public_key}]
    if settings.files:
        made["files"] = [
            {"path": path, "content_path": f"/content/{n:04d}"}
            for n, path in enumerate(settings.files)
        ]
    if settings.admin_password is not None:
        made["admin_pass"] = settings.admin_password
    return made


def _network_data(macs: Sequence[str]) -> dict[str, object]:
    """Return OpenStack's description of interfaces that ask for their address (DHCP)."""
    links = [
        {"id": f"interface{n}", "type": "phy", "ethernet_mac_address": mac, "mtu": None}
        for n, mac in enumerate(macs)
    ]
    networks = [
        {"id": f"network{n}", "type": "ipv4_dhcp", "link": f"interface{n}", "network_id": ""}
        for n in range(len(macs))
    ]
    return {"links": links, "networks": networks, "services": []}


def _json(value: dict[str, object]) -> bytes:
    return json.dumps(value).encode()


def decoded(text: str) -> bytes:
    """Decode Base64; return other text unchanged, since an older API accepted it."""
    try:
        return base64.b64decode(text)
    except ValueError:
        return text.encode()
