"""Remains of an interrupted live migration at its destination: a guest that waits for its memory.

When the daemon of the source ends, the other one notices, and destroys what was to arrive. Until
then the guest cannot be sent there again.
"""

import time
from collections.abc import Callable
from typing import Any

END_SECONDS_MAX = 15.0
POLL_SECONDS = 0.25


def has_ended(
    library: Any,
    uri: str,
    instance_uuid: str,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Wait until a daemon has destroyed a guest that was to arrive there; return whether it has.

    One that runs there has arrived, and does not end. Raises libvirtError.
    """
    opened = library.open(uri)
    try:
        give_up_at = clock() + END_SECONDS_MAX
        while (state := _state(library, opened, instance_uuid)) == library.VIR_DOMAIN_PAUSED:
            if clock() > give_up_at:
                return False
            sleep(POLL_SECONDS)
        return state in (library.VIR_DOMAIN_NOSTATE, library.VIR_DOMAIN_SHUTOFF)
    finally:
        opened.close()


def _state(library: Any, opened: Any, instance_uuid: str) -> int:
    """Return the state of a domain; that of one that does not exist is none."""
    try:
        return int(opened.lookupByUUIDString(instance_uuid).state(0)[0])
    except library.libvirtError as error:
        if error.get_error_code() != library.VIR_ERR_NO_DOMAIN:
            raise
        return int(library.VIR_DOMAIN_NOSTATE)
