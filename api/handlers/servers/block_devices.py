"""Block devices in requests for servers: what to boot from, and the further disks of the flavor."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.call import Call
from api.handlers.servers.server_request import last_part
from api.schemas.servers.server import BLANK, SWAP
from armillary.http.call import Document
from armillary.http.validation import invalid
from objects.flavor import Flavor

_FIELD = "server.block_device_mapping_v2"


def check_devices(call: Call, wanted: Mapping[str, Any]) -> None:
    """Raise Invalid for blank disks that the flavor does not have, or has in another size.

    The guest gets those of its flavor in any case. Raises FlavorNotFound.
    """
    blank = list(_blank(wanted))
    if not blank:
        return
    flavor = call.conductor.get_flavor(call.context, last_part(wanted["flavorRef"]))
    seen = set[bool]()
    for number, device in blank:
        is_swap = device.get("guest_format") == SWAP
        if is_swap in seen:
            rule = "A server has one ephemeral and one swap disk at most"
            raise invalid(f"{_FIELD}.{number}", device, rule)
        _check(number, device, flavor, is_swap=is_swap)
        seen.add(is_swap)


def _blank(wanted: Mapping[str, Any]) -> Iterator[tuple[int, Document]]:
    for number, device in enumerate(wanted.get("block_device_mapping_v2") or []):
        if device["source_type"] == BLANK:
            yield number, device


def _check(number: int, device: Document, flavor: Flavor, *, is_swap: bool) -> None:
    has, unit = (flavor.swap_mb, "MiB") if is_swap else (flavor.ephemeral_gb, "GiB")
    size = int(device.get("volume_size") or 0)
    if has and size in (0, has):
        return
    disk, article = ("swap disk", "a") if is_swap else ("ephemeral disk", "an")
    found = f"{article} {disk} of {has} {unit}" if has else f"no {disk}"
    rule = f"Flavor {flavor.name} has {found}, and the server has what its flavor has"
    raise invalid(f"{_FIELD}.{number}", device, rule)
