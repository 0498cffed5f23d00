"""Instances that come and go between two pushes of their host are seen immediately."""

from typing import Any

import pytest

from armillary import exception
from armillary.context import Signer
from scheduler.hosts.store.host_store import HostStore
from scheduler.hosts.store.instance_info import InstanceInfo
from tests.builders import a_uuid
from tests.fleets import CELL, OTHER_CELL, Clock, Host, a_batch, a_fleet, a_host, scheduling_conf

HERE, TOLD, LATE = a_uuid(), a_uuid(), a_uuid()


class Scene:
    """Host a, with one instance, and host b in another cell."""

    def __init__(self, **conf: Any) -> None:
        self.hosts = [a_host("a", instance_uuids=[HERE], num_instances=1),
                      a_host("b", cell=OTHER_CELL)]  # fmt: skip
        self.clock = Clock()
        self.conf = scheduling_conf(**conf)
        self.fleet: HostStore = a_fleet(self.hosts, conf=self.conf, clock=self.clock)
        self.asked: set[str] = set()
        self.info = InstanceInfo(self.conf, host_store=self.fleet, ask_cells=self.asked.update)

    def seen(self, name: str = "a") -> tuple[set[str], int]:
        host = next(each for each in self.fleet.view_all() if each.host == name)
        return set(host.instances), host.num_instances

    def push(self, host: Host) -> None:
        self.fleet.apply(a_batch([host], cell=host.cell, first_seq=0, last_seq=2))


def test_an_instance_that_came_is_seen_once_however_often_it_is_told() -> None:
    """Also when it was there before, and when the push shows it."""
    scene = Scene()
    for _ in range(2):
        scene.info.update({"a": [TOLD, HERE]})
        assert scene.seen() == ({HERE, TOLD}, 2)
    scene.hosts[0].values.update(instance_uuids=[HERE, TOLD], num_instances=2)
    scene.push(scene.hosts[0])
    assert scene.seen() == ({HERE, TOLD}, 2)


def test_an_instance_that_no_push_confirms_is_forgotten() -> None:
    """As one that was claimed here is."""
    scene = Scene()
    scene.info.update({"a": [TOLD]})
    scene.clock.seconds += 121
    assert scene.seen() == ({HERE}, 1)


def test_an_instance_that_is_gone_is_not_seen_until_a_push_shows_it() -> None:
    """Reported or only told of; the push has the last word."""
    scene = Scene()
    scene.info.update({"a": [TOLD]})
    for _ in range(2):
        scene.info.delete({"a": [TOLD, HERE]})
        assert scene.seen() == (set(), 0)
    scene.push(scene.hosts[0])
    assert scene.seen() == ({HERE}, 1)
    scene.info.sync({"a": [LATE]})
    assert scene.fleet.seq_of(CELL) == 2  # what came after it is all that is asked for


def test_a_decision_in_progress_is_not_disturbed() -> None:
    """It works on its own view."""
    scene = Scene()
    (host, _other) = scene.fleet.view_all()
    scene.info.delete({"a": [HERE]})
    assert host.instances == {HERE}


def test_a_difference_is_asked_of_its_cell_only() -> None:
    """Sets count, not their order; a host without any instance, too."""
    scene = Scene()
    scene.info.sync({"a": [HERE], "b": []})
    assert scene.asked == set()
    scene.info.sync({"a": [HERE], "b": [LATE]})
    assert scene.asked == {OTHER_CELL}
    assert scene.fleet.seq_of(OTHER_CELL) == 1
    scene.info.sync({"a": [], "b": []})
    assert scene.asked == {OTHER_CELL, CELL}


def test_what_was_told_in_error_is_put_right() -> None:
    """All of the cell is asked for: what changed since the last push would not have it."""
    scene = Scene()
    scene.info.delete({"a": [HERE]})
    scene.info.sync({"a": [HERE]})
    assert scene.asked == {CELL}
    assert scene.fleet.seq_of(CELL) == 0


def test_an_unknown_host_has_every_cell_asked() -> None:
    """It may be anywhere."""
    for tell in ("update", "delete"):
        scene = Scene()
        getattr(scene.info, tell)({"new": [TOLD]})
        assert scene.asked == {CELL, OTHER_CELL}


def test_nothing_is_taken_over_when_changes_are_not_tracked() -> None:
    """Pushes are all there is then."""
    scene = Scene(filter_scheduler__track_instance_changes=False)
    scene.info.update({"a": [TOLD]})
    scene.info.delete({"a": [HERE]})
    scene.info.sync({"a": [], "new": []})
    assert (scene.seen(), scene.asked) == (({HERE}, 1), set())


@pytest.mark.parametrize("hosts", [None, [], {"a": None}, {"a": "text"}, {"a": [1]}], ids=repr)
def test_who_talks_nonsense_is_not_listened_to(hosts: Any) -> None:
    """It may be of another make."""
    scene = Scene()
    for tell in (scene.info.update, scene.info.delete, scene.info.sync):
        tell(hosts)
    assert (scene.seen(), scene.asked) == (({HERE}, 1), set())


@pytest.mark.parametrize("method", ["update", "delete", "sync"])
def test_a_cell_speaks_of_instances_on_its_own_hosts_alone(method: str) -> None:
    """What its conductor's key signed about another cell's host is refused as a whole."""
    scene = Scene()
    other = Signer("thief", "cell_conductor", OTHER_CELL)
    with pytest.raises(exception.NotItsOwn, match="host a is in another cell"):
        getattr(scene.info, method)({"a": [TOLD]}, other)
    assert scene.seen() == ({HERE}, 1)
    assert scene.asked == set()
    getattr(scene.info, method)({"a": [HERE]}, Signer("own", "cell_conductor", CELL))
