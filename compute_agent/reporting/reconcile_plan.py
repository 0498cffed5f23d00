"""Reconciliation plan: a pure comparison of actual and expected instances."""

import dataclasses
from collections.abc import Collection, Iterable, Iterator, Mapping

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.journal import Entry, Kind, Snapshot, State
from compute_agent.virt.driver import PAUSED, RUNNING, SUSPENDED, GuestInfo
from objects.instance import Instance

Key = tuple[str, str]
"""Host and instance UUID."""

_POWERS = {"active": RUNNING, "paused": PAUSED, "suspended": SUSPENDED}
"""Power state of the guest by the state of its instance."""
_TASKS_OF_BUILDS = (None, "scheduling", "spawning")


@dataclasses.dataclass(frozen=True, slots=True)
class Destroy:
    """Destroy an unexpected instance without a report, up to ``attempt``."""

    key: Key
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Delete:
    """Delete and report: the instance is being deleted, but the command was lost."""

    key: Key


@dataclasses.dataclass(frozen=True, slots=True)
class ReportAgain:
    """Report the result of a build again; the conductor missed it."""

    key: Key
    attempt: int


@dataclasses.dataclass(frozen=True, slots=True)
class Adopt:
    """Add an instance missing in the journal, and report what the conductor does not know."""

    instance: Instance
    has_ended: bool
    exit_code: int | None
    reports: tuple[Kind, ...]
    place: InstancePlacement | None = None

    @property
    def key(self) -> Key:
        return str(self.instance.host), self.instance.uuid


@dataclasses.dataclass(frozen=True, slots=True)
class Settle:
    """Mark an instance in transit as settled here; its move has ended."""

    key: Key
    has_ended: bool
    exit_code: int | None


@dataclasses.dataclass(frozen=True, slots=True)
class ReportPower:
    """Report a guest that runs, or is paused, though the record or the journal differs."""

    key: Key
    attempt: int
    power_state: str
    reason: str | None


@dataclasses.dataclass(frozen=True, slots=True)
class Renew:
    """Replace an entry that is older than the record: the journal comes from an older copy."""

    instance: Instance
    has_ended: bool
    exit_code: int | None
    place: InstancePlacement | None

    @property
    def key(self) -> Key:
        return str(self.instance.host), self.instance.uuid


Action = Destroy | Delete | ReportAgain | Adopt | Settle | ReportPower | Renew


def plan(
    hosts: Iterable[str],
    before: Snapshot,
    guests: Mapping[Key, GuestInfo],
    listed: Iterable[Instance],
    moving: Collection[Key] = (),
) -> list[Action]:
    """Return the actions that bring ``hosts`` to the state listed by the conductor.

    ``before`` and ``guests`` were taken, in this order, before the conductor was queried, so a
    newer guest is in neither. The caller must skip instances that changed since. Running builds and
    deletes, moving instances and instances with unsent reports are left alone.
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
    """Return the instances here that are being moved; takes the arguments of ``plan``.

    Their operations may end without this host if it was given up while unreachable. It is not
    notified then, so it has to compare again.
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
        elif instance is not None and _is_outdated(entry, instance):
            yield _renew(guest, instance)
        return
    if instance is None:
        yield Destroy(key, entry.attempt if entry is not None else 0)
    elif instance.task_state == "deleting":
        yield Delete(key)
    elif instance.vm_state == "error":
        # A guest without an entry is left over from a lost journal. Without a power state its build
        # has failed, and its resources were released; with one, an administrator set the state.
        if entry is None and guest is not None and instance.power_state is None:
            yield Destroy(key, instance.attempt)
        elif entry is None and guest is not None:
            yield from _adopt(guest, instance)
        elif entry is not None and guest is not None and _goes_on(instance, entry, guest):
            yield ReportPower(key, entry.attempt, guest.power_state, guest.reason)
    elif entry is None:
        yield from _adopt(guest, instance)
    elif _is_outdated(entry, instance):
        yield _renew(guest, instance)
    elif _is_in_transit(entry):
        if instance.task_state is not None:
            return  # an operation in progress may still move it away
        is_off = guest is None or guest.is_off
        yield Settle(key, is_off, guest.exit_code if guest is not None else None)
    elif instance.attempt != entry.attempt:
        return
    elif guest is not None and _is_unnoticed(instance, entry, guest):
        yield ReportPower(key, entry.attempt, guest.power_state, guest.reason)
    elif _is_behind(instance, entry):
        yield ReportAgain(key, entry.attempt)


def _is_outdated(entry: Entry, instance: Instance) -> bool:
    """Return whether an idle instance came here, or back, after its entry was written."""
    return (
        entry.attempt < instance.attempt
        and (entry.state is not State.DELETING or entry.is_silent)
        and instance.task_state is None
        and instance.vm_state != "building"
    )


def _renew(guest: GuestInfo | None, instance: Instance) -> Renew:
    has_ended = guest is None or guest.is_off
    exit_code = guest.exit_code if guest is not None else None
    return Renew(instance, has_ended, exit_code, guest.place if guest is not None else None)


def _is_deleting(entry: Entry) -> bool:
    return entry.state is State.DELETING and not entry.is_silent


def _is_unnoticed(instance: Instance, entry: Entry, guest: GuestInfo) -> bool:
    """Return whether a guest runs, or is paused, and record or journal say something else."""
    if guest.is_off or guest.is_moving or instance.task_state is not None:
        return False
    if instance.vm_state == "stopped" or entry.state is State.ENDED:
        return instance.vm_state in ("stopped", *_POWERS)
    return _POWERS.get(instance.vm_state, guest.power_state) != guest.power_state


def _goes_on(instance: Instance, entry: Entry, guest: GuestInfo) -> bool:
    """Return whether a guest runs that has ended by the journal, as after a failed rebuild."""
    is_idle = instance.task_state is None and instance.attempt == entry.attempt
    return is_idle and entry.state is State.ENDED and not (guest.is_off or guest.is_moving)


def _is_behind(instance: Instance, entry: Entry) -> bool:
    """Return whether the conductor missed a report about a running or stopped instance."""
    if instance.task_state not in _TASKS_OF_BUILDS:
        return False  # the operation in progress reports its state
    if instance.vm_state == "building":
        return True
    return instance.vm_state == "active" and entry.state is State.ENDED


def _adopt(guest: GuestInfo | None, instance: Instance) -> Iterator[Action]:
    is_building = instance.vm_state == "building"
    if is_building and guest is None:
        return  # the build command is on its way, or is repeated when its lease expires
    has_ended = guest is None or guest.is_off
    reports = []
    if is_building:
        reports.append(Kind.BUILD_SUCCEEDED)
    if has_ended and instance.vm_state in ("building", "active"):
        reports.append(Kind.INSTANCE_ENDED)
    is_on = guest is not None and guest.power_state == RUNNING and not guest.is_moving
    if is_on and instance.vm_state == "stopped" and instance.task_state is None:
        reports.append(Kind.POWER_CHANGED)
    exit_code = guest.exit_code if guest is not None else None
    place = guest.place if guest is not None else None
    yield Adopt(instance, has_ended, exit_code, tuple(reports), place)
