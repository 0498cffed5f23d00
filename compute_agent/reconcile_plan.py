"""Compare what runs here with what should, and decide for each difference: pure, without a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from compute_agent.instance_place import InstancePlace
from compute_agent.journal import Entry, Kind, Snapshot, State
from compute_agent.virt.driver import GuestInfo
from objects.instance import Instance

Key = tuple[str, str]
"""Host and instance UUID."""

RUNNING = "running"

_TASKS_OF_BUILDS = (None, "scheduling", "spawning")


@dataclasses.dataclass(frozen=True, slots=True)
class Destroy:
    """It should not be here: destroy it in silence. ``attempt``: up to which one."""

    key: Key
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Delete:
    """It is being deleted, and the order did not arrive or was lost: delete and report."""

    key: Key


@dataclasses.dataclass(frozen=True, slots=True)
class ReportAgain:
    """The conductor does not know how it went."""

    key: Key
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Adopt:
    """The journal has lost it: take it over, and report what the conductor does not know."""

    instance: Instance
    has_ended: bool
    exit_code: int | None
    reports: tuple[Kind, ...]
    place: InstancePlace | None = None

    @property
    def key(self) -> Key:
        return str(self.instance.host), self.instance.uuid


@dataclasses.dataclass(frozen=True, slots=True)
class Settle:
    """It was on its way, and nothing moves it any more: it is in its place here."""

    key: Key
    has_ended: bool
    exit_code: int | None


Action = Destroy | Delete | ReportAgain | Adopt | Settle


def plan(
    hosts: Iterable[str],
    before: Snapshot,
    guests: Mapping[Key, GuestInfo],
    listed: Iterable[Instance],
    moving: Collection[Key] = (),
) -> list[Action]:
    """Return what to do so that ``hosts`` carry what the conductor listed.

    ``before`` and ``guests`` were taken, in this order, before the conductor was asked; so a guest
    that is younger than the question is in neither. Whoever carries an action out leaves instances
    alone that were touched since. Builds and deletes in hand, what moves, and what waits for an
    answer are left to their own course.
    """
    wanted = {(str(instance.host), instance.uuid): instance for instance in listed}
    carried = frozenset(hosts)
    return [
        action
        for key in sorted({*wanted, *before.entries, *guests})
        if key[0] in carried and key[1] not in before.unreported and key not in moving
        for action in _decide(key, before.entries.get(key), guests.get(key), wanted.get(key))
    ]


def undecided(
    hosts: Iterable[str],
    before: Snapshot,
    guests: Mapping[Key, GuestInfo],
    listed: Iterable[Instance],
    moving: Collection[Key] = (),
) -> set[Key]:
    """Return what is here of instances that are under way elsewhere: takes what ``plan`` takes.

    Their operations may end without this host, which was given up while it was out of reach. Nobody
    tells it then: it has to compare again.
    """
    under_way = {
        (str(instance.host), instance.uuid)
        for instance in listed
        if instance.task_state is not None
    }
    in_transit = {key for key, entry in before.entries.items() if _is_in_transit(entry)}
    here = {*before.entries, *guests}
    carried = frozenset(hosts)
    return {key for key in (here & set(moving)) | (in_transit & under_way) if key[0] in carried}


def _is_in_transit(entry: Entry) -> bool:
    return entry.state in (State.ARRIVING, State.LEAVING)


def _decide(
    key: Key, entry: Entry | None, guest: GuestInfo | None, instance: Instance | None
) -> Iterator[Action]:
    if entry is not None and entry.state in (State.BUILDING, State.DELETING):
        if instance is not None and instance.task_state == "deleting" and not _is_deleting(entry):
            yield Delete(key)
        return
    if instance is None:
        yield Destroy(key, entry.attempt if entry is not None else 0)
    elif instance.task_state == "deleting":
        yield Delete(key)
    elif instance.vm_state == "error":
        # Its resources are given back; what runs without an entry was left by a journal that is
        # lost.
        if entry is None and guest is not None:
            yield Destroy(key, instance.attempt)
    elif entry is None:
        yield from _adopt(guest, instance)
    elif _is_in_transit(entry):
        if instance.task_state is not None:
            return  # something is under way with it that may yet take it from here
        is_off = guest is None or guest.power_state != RUNNING
        yield Settle(key, is_off, guest.exit_code if guest is not None else None)
    elif instance.attempt == entry.attempt and _is_behind(instance, entry):
        yield ReportAgain(key, entry.attempt)


def _is_deleting(entry: Entry) -> bool:
    return entry.state is State.DELETING and not entry.is_silent


def _is_behind(instance: Instance, entry: Entry) -> bool:
    """Whether the conductor has missed a report about an entry that runs or ended."""
    if instance.task_state not in _TASKS_OF_BUILDS:
        return False  # it hears of what is being done to it
    if instance.vm_state == "building":
        return True
    return instance.vm_state == "active" and entry.state is State.ENDED


def _adopt(guest: GuestInfo | None, instance: Instance) -> Iterator[Action]:
    is_building = instance.vm_state == "building"
    if is_building and guest is None:
        return  # the order to build is on its way, or comes again when its lease runs out
    has_ended = guest is None or guest.power_state != RUNNING
    reports = []
    if is_building:
        reports.append(Kind.BUILD_SUCCEEDED)
    if has_ended and instance.vm_state in ("building", "active"):
        reports.append(Kind.INSTANCE_ENDED)
    exit_code = guest.exit_code if guest is not None else None
    place = guest.place if guest is not None else None
    yield Adopt(instance, has_ended, exit_code, tuple(reports), place)
