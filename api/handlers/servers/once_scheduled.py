"""Changes of servers that no cell has yet: they are made as soon as one has them."""

import time

from api.call import Call
from armillary.backoff import Backoff
from objects.instance import Instance

WAIT_SECONDS_MAX = 10.0
"""How long scheduling may take; the change is then refused."""
_INTERVALS = Backoff(0.05, 0.5)


def wait_until_scheduled(call: Call, server: Instance) -> None:
    """Wait until a server is scheduled, or too long. Raises InstanceNotFound if it is deleted.

    The change itself cannot be tried again: a refusal is the final answer to its request.
    """
    end, tries = time.monotonic() + WAIT_SECONDS_MAX, 0
    while server.vm_state == "building" and server.host is None and time.monotonic() < end:
        time.sleep(_INTERVALS.seconds(tries))
        tries += 1
        server = call.conductor.get_server(call.context, server.uuid)
