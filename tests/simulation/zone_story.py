"""Ten virtual minutes in a tree of nine zones: creates, deletes, partitions and kills by chance.

Links between zones are cut, and links between a zone's super conductor and its cell.

``python -m tests.simulation.zone_story --first 1 --seeds 100`` plays seeds; the zones' conductors
are real, their schedulers, cells and placement are those of the tests of conductors. All runs in
one thread under a virtual clock, and UUIDs are the seed's, so a seed is the same story each time.
"""

import argparse
import contextlib
import dataclasses
import functools
import gc
import logging
import random
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any
from unittest import mock

from armillary import exception
from conductor.super_conductor import peer_link
from objects.instances.server_filters import ServerFilters
from tests.fixtures.cell import Clock
from tests.fixtures.control_plane import a_user
from tests.fixtures.messages.direct_bus import DirectBus, Killed
from tests.fixtures.plugins import compiled_statements
from tests.fixtures.zones import Zone

PARENTS = {
    "root": None, "eu": "root", "us": "root", "asia": "root", "eu-1": "eu", "eu-2": "eu",
    "us-1": "us", "us-2": "us", "eu-2a": "eu-2",
}  # fmt: skip
"""The tree, parents first."""
SECONDS = 600.0
HOSTS = 3
SERVERS_MAX = 40
EFFECTS_MAX = 24
ROUNDS_MAX = 40
LOOKS_SHARE = 4
"""Each server is looked at in one round of so many."""
GARBAGE_THRESHOLD = 100_000


@dataclasses.dataclass
class Server:
    """A server that a user asked for, at the zone where the request came in."""

    origin: Zone
    uuid: str
    is_deleted: bool = False


class Story:
    """One seed."""

    def __init__(self, folder: Path, seed: int, seconds: float) -> None:
        self.seconds = seconds
        self.rng = random.Random(seed)
        clock = Clock()
        self.zones = {name: Zone(folder / name, name, clock) for name in PARENTS}
        for zone in self.zones.values():
            zone.add_cell(hosts=HOSTS)
            zone.is_safe = False  # a zone may be killed in a call of its parent, too
            zone.scheduler.is_silent = functools.partial(_is_cut_off, zone)
        for name, parent in PARENTS.items():
            if parent is not None:
                self.zones[parent].add_child(self.zones[name])
        self.root, self.clock = self.zones["root"], clock
        self.servers: list[Server] = []
        self.round = 0
        self.counts = dict.fromkeys(("created", "deleted", "cut", "cells cut", "killed"), 0)

    def play(self) -> None:
        """Let happen what chance wants, check each server repeatedly, and mend it all."""
        end = self.clock() + self.seconds
        while self.clock() < end:
            for _ in range(self.rng.randint(0, 2)):
                self.rng.choice(
                    [
                        self._create,
                        self._create,
                        self._delete,
                        self._cut,
                        self._cut_cell,
                        self._mend,
                    ]
                )()
            if self.rng.random() < 0.3:
                self._arm()
            self._break_hosts()
            self._work()
            self._look_at_some()
        self._settle()
        self._check()
        searched = (len(zone.scheduler.searched) for zone in self.zones.values())
        self.counts["searched again"] = sum(searched)

    def close(self) -> None:
        for zone in reversed(list(self.zones.values())):
            zone.breaker.mend()
        self.root.close_all()

    # What happens

    def _create(self) -> None:
        origin = self.rng.choice(list(self.zones.values()))
        if len(self.servers) >= SERVERS_MAX:
            return
        names = list(_names_of_hosts(origin))
        self.rng.shuffle(names)
        origin.scheduler.zone_entries = origin.entries(*names[: self.rng.randint(1, 5)])
        count = self.rng.choice([1, 1, 1, 3])
        with origin.breaker.set_aside():  # else its user would not know what was accepted
            uuids = origin.create(count)
        self.servers += [Server(origin, uuid) for uuid in uuids]
        self.counts["created"] += len(uuids)

    def _delete(self) -> None:
        living = [one for one in self.servers if not one.is_deleted]
        if not living:
            return
        one = self.rng.choice(living)
        try:
            self._unless_killed(
                one.origin, lambda: one.origin.endpoint.delete_server(a_user(), one.uuid)
            )
        except exception.Unavailable:
            return  # the user is told to try again
        one.is_deleted = True  # or its process was killed: the user repeats it at the end
        self.counts["deleted"] += 1

    def _cut(self) -> None:
        parent, child = self.rng.choice(list(self._links()))
        parent.bus_to(child).is_down = True
        self.counts["cut"] += 1

    def _cut_cell(self) -> None:
        zone = self.rng.choice(list(self.zones.values()))
        zone.bus_of(zone.cell()).is_down = True
        self.counts["cells cut"] += 1

    def _mend(self) -> None:
        for bus in self._buses():
            if self.rng.random() < 0.5:
                bus.is_down = False

    def _buses(self) -> Iterator[DirectBus]:
        for parent, child in self._links():
            yield parent.bus_to(child)
        for zone in self.zones.values():
            yield zone.bus_of(zone.cell())

    def _links(self) -> Iterator[tuple[Zone, Zone]]:
        for zone in self.zones.values():
            for child in zone.children:
                yield zone, child

    def _arm(self) -> None:
        """Have a zone's process die at one of its next effects."""
        zone = self.rng.choice(list(self.zones.values()))
        zone.breaker.kill_at(self.rng.randint(0, EFFECTS_MAX) / 2)
        self.counts["killed"] += 1

    def _break_hosts(self) -> None:
        for zone in self.zones.values():
            zone.cell().failing_hosts = {
                f"cell1-host{number + 1}" for number in range(HOSTS) if self.rng.random() < 0.2
            }

    def _work(self) -> None:
        """Let every zone do what is due, some seconds later."""
        self.clock.advance(self.rng.uniform(2, 15))
        for zone in self.zones.values():
            self._unless_killed(zone, zone.workers.work)
            self._unless_killed(zone, zone.builds.continue_walks)
            self._unless_killed(zone, zone.workers.work)
            if self.rng.random() < 0.3:
                self._unless_killed(zone, zone.recover)
                self._unless_killed(zone, zone.reconciler.reconcile_unknown)

    def _unless_killed(self, zone: Zone, work: Callable[[], object]) -> list[str]:
        """Do a zone's work; a process that is killed by it starts again."""
        try:
            done = work()
        except Killed:
            zone.breaker.mend()
            zone.start()
            return []
        return list(done) if isinstance(done, list) else []

    # What has to be true

    def _look_at_some(self) -> None:
        """Check that no living server is said to be gone, whatever is cut off (X3).

        Others in each round: each server is looked at often, and not half of a seed's time goes
        into that.
        """
        self.round += 1
        for number, one in enumerate(self.servers):
            if one.is_deleted or (number + self.round) % LOOKS_SHARE:
                continue
            try:
                self._unless_killed(
                    one.origin,
                    lambda one=one: one.origin.endpoint.get_server(a_user(), one.uuid),  # type: ignore[misc]
                )
            except exception.Unavailable:
                continue  # its zone is cut off

    def _settle(self) -> None:
        """Mend everything, and let all zones come to rest."""
        for zone in self.zones.values():
            zone.breaker.mend()
            zone.cell().failing_hosts = set()
        for bus in self._buses():
            bus.is_down = False
        for one in self.servers:
            if one.is_deleted:
                try:
                    one.origin.endpoint.delete_server(a_user(), one.uuid)
                except exception.InstanceNotFound:
                    continue
        for _ in range(ROUNDS_MAX):
            self.clock.advance(self.root.conf.conductor.lease_seconds + 1)
            for zone in reversed(list(self.zones.values())):
                zone.recover()
                zone.builds.continue_walks()
                zone.workers.work()
                zone.reconciler.reconcile_unknown()
            if not any(zone.left() for zone in self.zones.values()):
                return
        left = {zone.name: zone.left() for zone in self.zones.values() if zone.left()}
        raise AssertionError(f"still to be done: {left}")

    def _check(self) -> None:
        living = 0
        for one in self.servers:
            places = one.origin.living(one.uuid)
            listed = self._listed(one.origin).count(one.uuid)
            if one.is_deleted:
                assert (places, listed) == ([], 0), f"{one.uuid} was deleted: {places}, {listed}"
                continue
            state = one.origin.endpoint.get_server(a_user(), one.uuid).vm_state
            assert state in ("active", "error"), f"{one.uuid} is {state}"
            assert listed == 1, f"{one.uuid} is listed {listed} times"
            assert len(places) == (state == "active"), f"{one.uuid} is {state}: {places}"
            living += len(places)
        held = self.root.held()
        assert held == living, f"{held} allocations of {living} servers"

    def _listed(self, origin: Zone) -> list[str]:
        answer = origin.endpoint.list_servers(a_user(), filters=ServerFilters(), limit=1000)
        return [one.uuid for one in answer.instances]


def _names_of_hosts(zone: Zone, path: str = "") -> Iterator[str]:
    """Yield the names of a sub-tree's hosts, as ``Zone.entries`` takes them."""
    yield from (f"{path}:cell1-host{number + 1}" for number in range(HOSTS))
    for child in zone.children:
        yield from _names_of_hosts(child, f"{path}/{child.name}".lstrip("/"))


def _is_cut_off(zone: Zone, path: list[str]) -> bool:
    """Return whether a link on the way to a zone is cut, so that it answers no search."""
    for name in path:
        below = next(child for child in zone.children if child.name == name)
        if zone.bus_to(below).is_down:
            return True
        zone = below
    return False


class _InlinePool:
    """A pool of a link's workers that does the work immediately, in the caller's thread."""

    def __init__(self, *_arguments: object, **_options: object) -> None: ...

    def submit(self, fn: Callable[..., object], *arguments: object, **more: object) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*arguments, **more))
        except BaseException as error:
            future.set_exception(error)
        return future

    def shutdown(self, *_arguments: object, **_options: object) -> None: ...


@contextlib.contextmanager
def _one_thread(seed: int) -> Iterator[None]:
    """Let links work in the caller's thread, and UUIDs be those of a seed."""
    rng = random.Random(f"uuids of {seed}")
    made = mock.Mock(side_effect=lambda: uuid.UUID(int=rng.getrandbits(128), version=4))
    with mock.patch.object(peer_link, "WorkerPool", _InlinePool), mock.patch("uuid.uuid4", made):
        yield


def play(seed: int, *, seconds: float = SECONDS) -> dict[str, int]:
    """Play a seed; return what happened in it. Raises AssertionError for what is wrong."""
    with tempfile.TemporaryDirectory() as folder, _one_thread(seed):
        story = Story(Path(folder), seed, seconds)
        try:
            story.play()
        finally:
            story.close()
        return story.counts


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.zone_story")
    parser.add_argument("--first", type=int, default=1, help="the first seed (%(default)s)")
    parser.add_argument("--seeds", type=int, default=10, help="how many (%(default)s)")
    parser.add_argument("--cpu", type=float, help="begin none after so many seconds of CPU time")
    arguments = parser.parse_args(argv)
    logging.disable(logging.CRITICAL)
    compiled_statements.pytest_configure()
    gc.set_threshold(GARBAGE_THRESHOLD)
    wrong = played = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        if arguments.cpu is not None and time.process_time() > arguments.cpu:
            break
        played += 1
        try:
            print(seed, play(seed), flush=True)  # noqa: T201 - what it is for
        except Exception as error:
            wrong += 1
            print(seed, "WRONG:", type(error).__name__, error, flush=True)  # noqa: T201
    print(f"{played - wrong} of {played} seeds are right")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
