"""Requests of users in a run, at random times: all of it from a seed."""

import json
import random
from collections.abc import Set

from armillary import exception
from objects.instances.new_servers import NewServers
from objects.instances.operation_arguments import OperationArguments
from objects.instances.server_filters import ServerFilters
from tests.simulation.hub import HUB
from tests.simulation.world import FLAVORS, Server, World, a_user

SERVERS_MAX = 10
PAUSE_SECONDS_MEAN = 0.6
LIST_LIMIT = 200

ALWAYS = ("delete", "force_delete", "rebuild", "lock", "unlock")
OPERATIONS: dict[str, tuple[str, ...]] = {
    "active": ("stop", "reboot", "resize", "resize", "migrate", "migrate", "live_migrate",
               "live_migrate", "shelve", "rebuild", "evacuate", "delete", "soft_delete"),
    "stopped": ("start", "start", "resize", "migrate", "shelve", "rebuild", "delete"),
    "resized": ("confirm_resize", "revert_resize", "revert_resize", "delete", "stop"),
    "shelved": ("shelve_offload", "unshelve", "delete"),
    "shelved_offloaded": ("unshelve", "unshelve", "delete"),
    "soft-delete": ("restore", "force_delete"),
    "error": ("delete", "rebuild", "evacuate", "stop"),
    "building": ("delete",),
}  # fmt: skip


class Story:
    """Users: a thread of theirs asks, others wait for answers. ``requests`` counts what they asked.

    ``accepted`` are the servers that they were told of, ``asked`` is how many they asked for.
    """

    def __init__(self, world: World, seed: int, *, accepted: Set[str], seconds: float) -> None:
        self._world = world
        self._rng = random.Random(f"story/{seed}")
        self._ends_at = HUB.now + seconds
        self._under_way = 0
        self._is_asking = True
        self.requests = 0
        self.accepted = set(accepted)
        self.asked = len(accepted)

    @property
    def is_over(self) -> bool:
        """Whether all was asked for, and answered."""
        return not self._is_asking and not self._under_way

    def left(self) -> list[str]:
        """Return what is not over yet."""
        return [] if self.is_over else [f"{self._under_way} requests of users"]

    def begin(self) -> None:
        HUB.spawn(self._tell, name="story", process=self._world.user)

    def _tell(self) -> None:
        while HUB.now < self._ends_at:
            HUB.park(self._rng.expovariate(1.0 / PAUSE_SECONDS_MEAN))
            self._under_way += 1
            HUB.spawn(self._ask_something, name="request", process=self._world.user)
        self._is_asking = False

    def _ask_something(self) -> None:
        try:
            self.requests += 1
            self._ask()
        except exception.ArmillaryError as error:
            HUB.watch("user", f"is told {type(error).__name__}: {error}")
        finally:
            self._under_way -= 1

    def _ask(self) -> None:
        api, servers = self._world.api(), self._world.servers()
        if self._rng.random() < 0.05:
            api.list_servers(a_user(), filters=ServerFilters(), limit=LIST_LIMIT)
        if not servers or (len(servers) < SERVERS_MAX and self._rng.random() < 0.3):
            self._create()
            return
        server = self._rng.choice(servers)
        usual = OPERATIONS.get(server.vm_state, ALWAYS)
        odd = self._rng.random() < 0.1
        operation = self._rng.choice(sum(OPERATIONS.values(), ()) if odd else usual)
        HUB.watch("user", f"asks to {operation} {_name(server)}, {server.vm_state}")
        if operation == "delete":
            api.delete_server(a_user(), server.uuid)
        else:
            api.operate_server(a_user(), server.uuid, operation, self._arguments(operation, server))

    def _create(self) -> None:
        count = self._rng.choice((1, 1, 2, 3, 5))
        HUB.watch("user", f"asks for {count} servers")
        flavor = self._rng.choice(list(FLAVORS))
        request = NewServers("web", flavor, "loop", min_count=count)
        self.asked += count
        answer = self._world.api().create_servers(a_user(), request)
        for uuid in answer.instance_uuids:
            self.accepted.add(uuid)
            HUB.watch("user", f"has {uuid}")

    def _arguments(self, operation: str, server: Server) -> OperationArguments:
        if operation == "resize":
            own = json.loads(server.flavor).get("armillary_object.data", {}).get("name")
            others = [name for name in FLAVORS if name != own]
            return OperationArguments(flavor=self._rng.choice(others))
        if operation == "rebuild" and self._rng.random() < 0.3:
            return OperationArguments(image="other")
        if operation == "reboot":
            return OperationArguments(is_hard=self._rng.random() < 0.5)
        return OperationArguments()


def _name(server: Server) -> str:
    return server.uuid[:8]
