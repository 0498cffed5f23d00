"""Beginning of every story: a deployment that runs, with servers in several states."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from objects.instances.new_servers import NewServers
from objects.instances.operation_arguments import OperationArguments
from tests.simulation.hub import HUB
from tests.simulation.world import World, a_user

START_SECONDS = 14.0
PATIENCE_SECONDS = 60.0
LOOK_SECONDS = 1.0
SERVERS = {"small": ("", "", "stop", "resize"), "medium": ("", "resize", "shelve")}
"""Flavor -> what is done to each server of that flavor once it runs."""
STATES = {"": "active", "stop": "stopped", "resize": "resized", "shelve": "shelved"}


@dataclass(frozen=True)
class Stage:
    """An idle deployment; ``servers`` are those that its users were told of."""

    world: World
    servers: frozenset[str]


def make(folder: Path) -> Stage:
    """Make the deployment in a folder; it is the same each time."""
    HUB.begin("stage")
    world = World(folder)
    for name in world.names:
        world.start(name)
    HUB.run(_has_failed, START_SECONDS)
    wanted: dict[str, str] = {}
    HUB.spawn(lambda: wanted.update(_create(world)), name="stage", process=world.user)
    _wait_for(world, lambda: dict.fromkeys(wanted, "active"))
    HUB.spawn(lambda: _operate(world, wanted), name="stage", process=world.user)
    _wait_for(world, lambda: {uuid: STATES[operation] for uuid, operation in wanted.items()})
    return Stage(world, frozenset(wanted))


def _create(world: World) -> dict[str, str]:
    """Ask for servers; return what is to be done to each."""
    wanted: dict[str, str] = {}
    for flavor, operations in SERVERS.items():
        request = NewServers(flavor, flavor, "loop", min_count=len(operations))
        made = world.api().create_servers(a_user(), request).instance_uuids
        wanted.update(zip(made, operations, strict=True))
    return wanted


def _operate(world: World, wanted: dict[str, str]) -> None:
    for uuid, operation in wanted.items():
        if operation:
            arguments = OperationArguments(flavor="large" if operation == "resize" else None)
            world.api().operate_server(a_user(), uuid, operation, arguments)


def _wait_for(world: World, states: Callable[[], dict[str, str]]) -> None:
    deadline = HUB.now + PATIENCE_SECONDS
    found: dict[str, str] = {}
    while HUB.now < deadline and not _has_failed():
        HUB.run(_has_failed, LOOK_SECONDS)
        found = {server.uuid: server.vm_state for server in world.servers() if server.is_at_rest}
        if states() and found == states():
            return
    raise AssertionError(f"{states()} never came to be, but {found}; {HUB.failures}")


def _has_failed() -> bool:
    return bool(HUB.failures)
