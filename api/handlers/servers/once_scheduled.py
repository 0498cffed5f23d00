"""Changes of servers that no cell has yet: they are made as soon as one has them."""

import time
from collections.abc import Callable

from api.call import Call
from armillary.backoff import Backoff
from objects.instance import Instance

WAIT_SECONDS_MAX = 10.0
"""How long scheduling may take; the change is then refused."""
_INTERVALS = Backoff(0.05, 0.5)


def wait_until_scheduled(
    call: Call,
    server: Instance,
    *,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> None:
    """Wait until a server is scheduled, or too long. Raises InstanceNotFound if it is deleted.

    The change itself cannot be tried again: a refusal is the final answer to its request.
    """
    end, tries = clock() + WAIT_SECONDS_MAX, 0
    while server.vm_state == "building" and server.host is None and clock() < end:
        sleep(_INTERVALS.seconds(tries))
        tries += 1
        server = call.conductor.get_server(call.context, server.uuid)
