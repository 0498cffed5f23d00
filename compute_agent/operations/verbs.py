"""Operation steps that an agent executes: one function per verb, and their table."""

import contextlib
import dataclasses
import os
from collections.abc import Callable

from armillary import exception
from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.command_log import Change
from compute_agent.journal.journal import State
from compute_agent.operations.step import Outcome, Postponed, Step, Superseded
from compute_agent.virt.driver import PAUSED, GuestInfo
from compute_agent.virt.snapshot_store import snapshot_store
from objects.images.image_meta import ImageMeta
from objects.instance import Instance
from objects.instances.instance_command import CommandAnswer, Verb

# A guest that stays on its host -------------------------------------------------------------------


def power_off(step: Step) -> Outcome:
    """Shut the guest down."""
    guest = step.driver.power_off(step.uuid, grace_seconds=step.grace_seconds)
    return _in_place(step, guest)


def power_on(step: Step) -> Outcome:
    """Start a guest that is off."""
    return _in_place(step, step.driver.power_on(step.instance, step.place))


def reboot(step: Step) -> Outcome:
    """Restart the guest."""
    guest = step.driver.reboot(
        step.instance,
        step.place,
        is_hard=bool(step.arguments.get("is_hard")),
        grace_seconds=step.grace_seconds,
    )
    return _in_place(step, guest)


def pause(step: Step) -> Outcome:
    """Pause the guest; its memory stays."""
    return _in_place(step, step.driver.pause(step.uuid))


def unpause(step: Step) -> Outcome:
    """Let a paused guest continue."""
    return _in_place(step, step.driver.unpause(step.uuid))


def suspend(step: Step) -> Outcome:
    """Suspend the guest, and free its memory if the driver can."""
    return _in_place(step, step.driver.suspend(step.uuid))


def resume(step: Step) -> Outcome:
    """Let a suspended guest continue."""
    return _in_place(step, _continued(step, step.driver.resume(step.instance, step.place)))


def _continued(step: Step, guest: GuestInfo) -> GuestInfo:
    """Let a guest continue that was saved or copied while its agent held it, see ``GuestLease``."""
    return step.driver.unpause(step.uuid) if guest.power_state == PAUSED else guest


def rescue(step: Step) -> Outcome:
    """Run another image in place of the guest."""
    given = step.arguments.get("image")
    image = step.instance.image if given is None else ImageMeta.obj_from_primitive(given)
    if not isinstance(image, ImageMeta):
        raise step.fail("there is no image to rescue it with")
    guest = step.driver.rescue(step.instance, step.place, image, grace_seconds=step.grace_seconds)
    return _in_place(step, guest)


def snapshot(step: Step) -> Outcome:
    """Store the guest's data as the data of an image."""
    image = ImageMeta.obj_from_primitive(step.arguments["image"])
    store = snapshot_store(step.conf, step.image_service)
    try:
        store.check(image)
        with store.draft() as draft:
            step.driver.snapshot(step.uuid, image, draft)
            stored = store.publish(draft, image, step.instance.project_id)
    except OSError as error:
        raise step.fail(os.strerror(error.errno) if error.errno else str(error)) from error
    return Outcome(answer=CommandAnswer(stored_image=dataclasses.asdict(stored)))


def unrescue(step: Step) -> Outcome:
    """Run the guest itself again."""
    return _in_place(step, step.driver.unrescue(step.instance, step.place))


def _in_place(step: Step, guest: GuestInfo) -> Outcome:
    """Record the guest's state, and its attempt in case a move returned unnoticed."""
    entry = step.entry
    is_known = entry is None or entry.attempt == step.instance.attempt
    return Outcome.of(guest, Change(instance=None if is_known else step.instance))


def rebuild(step: Step) -> Outcome:
    """Build the guest again from the command's image.

    Where there is room, the former guest is kept until the new one runs. Raises GuestKept if the
    guest is as before, untouched or put back; GuestAside if it is kept, but cannot be put back;
    Postponed if that is unknown, as the hypervisor is unreachable.
    """
    with contextlib.ExitStack() as stack:
        try:
            if stack.enter_context(step.driver.ready_to_rebuild(step.instance)):
                return _replace(step)
        except exception.ArmillaryError as error:
            raise _not_rebuilt(step, error) from error
        if not step.write(Change(state=State.ENDED, instance=step.instance)):
            return Outcome()
        step.driver.destroy(step.uuid)
        return Outcome.of(_spawn(step))


def _replace(step: Step) -> Outcome:
    """Build a guest in place of the former one; the journal has that until the new one runs."""
    if not step.write(Change(state=State.ENDED)):
        return Outcome()
    step.driver.set_aside(step.uuid)
    guest = _spawn(step)
    step.driver.drop_aside(step.uuid)
    return Outcome.of(guest, Change(instance=step.instance))


def _not_rebuilt(step: Step, error: exception.ArmillaryError) -> exception.ArmillaryError:
    """Return the error of a rebuild, after the former guest was put back if it is still there."""
    reason = _reason(error)
    try:
        was_on = step.driver.put_back(step.instance, step.place)
    except exception.Unavailable as failure:
        raise Postponed(f"{reason}; {_reason(failure)}") from failure
    except exception.ArmillaryError as failure:
        _find_here(step, reason)
        aside = step.fail(
            f"{reason}; the former guest cannot be put back: {_reason(failure)}; its data is kept "
            "on the host, and a hard reboot of the server tries again"
        )
        return exception.GuestAside(**aside.kwargs)
    guest = _find_here(step, reason)
    if guest is None:
        return error
    said = "the guest was not changed"
    if was_on is not None:
        step.write(Change(state=State.RUNNING if was_on else State.ENDED))
        said = "the former guest was put back"
    if was_on:
        said += ", but cannot be started" if guest.is_off else ", and started again"
    return exception.GuestKept(**step.fail(f"{reason}; {said}").kwargs)


def _reason(error: exception.ArmillaryError) -> str:
    return str(error.kwargs.get("reason", error.message))


def _find_here(step: Step, reason: str) -> GuestInfo | None:
    """Return the guest. Raises Postponed if the hypervisor is unreachable."""
    try:
        return _find_guest(step)
    except exception.Unavailable as error:
        raise Postponed(f"{reason}; {_reason(error)}") from error


def _find_guest(step: Step) -> GuestInfo | None:
    found = (guest for guest in step.driver.list_guests() if guest.instance_uuid == step.uuid)
    return next(found, None)


def resize(step: Step) -> Outcome:
    """Give the guest its new flavor; both sizes stay claimed until the resize is confirmed."""
    place = _claim_resize(step)
    is_on = bool(step.arguments.get("is_on"))
    return Outcome.of(step.driver.resize(step.instance, place, is_on=is_on))


def _claim_resize(step: Step) -> InstancePlacement:
    entry, spec = step.entry, step.command.request_spec
    if entry is None or spec is None:
        raise step.fail("the guest does not exist here, or the command has no request spec")
    if entry.attempt == step.instance.attempt:
        return step.place
    return _claim(step, Change(instance=step.instance, request_spec=spec, keeps_former=True))


def settle(step: Step) -> Outcome:
    """Release the resources of the former size."""
    step.driver.settle(step.instance)
    return Outcome(Change(drops_former=True))


# At a destination ---------------------------------------------------------------------------------


def claim(step: Step) -> Outcome:
    """Claim the resources that the instance needs here."""
    _claim_arrival(step)
    return Outcome()


def _claim_arrival(step: Step) -> InstancePlacement:
    """Claim and record it; an existing claim of the same attempt is kept."""
    entry, instance, spec = step.entry, step.instance, step.command.request_spec
    if (
        entry is not None
        and entry.state is State.ARRIVING
        and entry.attempt == instance.attempt
        and not entry.is_resized_from(instance)
    ):
        return step.place
    if spec is None:
        raise step.fail("the command has no request spec, so nothing can be claimed")
    return _claim(step, Change(state=State.ARRIVING, instance=instance, request_spec=spec))


def _claim(step: Step, change: Change) -> InstancePlacement:
    """Claim the resources of the command's request spec; record them with the change."""
    assert change.request_spec is not None
    place = step.claims.claim_arrival(
        step.context,
        step.instance,
        change.request_spec,
        lambda place: step.write(dataclasses.replace(change, place=place)),
    )
    if place is None:
        raise Superseded
    return place


def attach(step: Step) -> Outcome:
    """Take over a guest that was detached at its source."""
    guest = step.driver.attach(
        step.instance,
        step.place,
        step.arguments.get("migration_payload") or {},
        is_on=bool(step.arguments.get("is_on")),
    )
    return Outcome.of(guest, Change(instance=step.instance))


def spawn(step: Step) -> Outcome:
    """Build the guest where it was claimed."""
    return Outcome.of(_spawn(step), Change(instance=step.instance))


def _spawn(step: Step) -> GuestInfo:
    instance, former_host = _with_image(step), step.arguments.get("former_host")
    if former_host is None:
        guest = step.driver.spawn(instance, step.place)
    else:
        guest = step.driver.recover(
            instance, step.place, former_host=former_host,
            is_rebuilt=bool(step.arguments.get("is_rebuilt")),
        )  # fmt: skip
    if not step.arguments.get("is_on", True):
        guest = step.driver.power_off(step.uuid, grace_seconds=step.grace_seconds)
    return guest


def _with_image(step: Step) -> Instance:
    """Return the instance with the image that has its disk, if the command names one."""
    given = step.arguments.get("image")
    if given is None:
        return step.instance
    return step.instance.with_values(image=ImageMeta.obj_from_primitive(given))


def prepare_live(step: Step) -> Outcome:
    """Claim resources, and prepare to receive a running guest."""
    place = _claim_arrival(step)
    destination = step.driver.prepare_live(step.instance, place, step.arguments.get("source") or {})
    return Outcome(answer=CommandAnswer(destination=destination))


def complete_live(step: Step) -> Outcome:
    """Finish a live migration at the destination.

    Raises Postponed while it is unknown whether the guest has arrived: it would count as lost.
    """
    try:
        guest = step.driver.complete_live(step.instance, step.place)
    except exception.Unavailable as error:
        raise Postponed(_reason(error)) from error
    if step.arguments.get("is_on"):
        guest = _continued(step, guest)
    return Outcome.of(guest, Change(instance=step.instance))


# At a source --------------------------------------------------------------------------------------


def detach(step: Step) -> Outcome:
    """Power the guest off, and return what the destination needs to take it over."""
    migration_payload = step.driver.detach(step.uuid, grace_seconds=step.grace_seconds)
    return Outcome(Change(state=State.LEAVING), CommandAnswer(migration_payload=migration_payload))


def keep(step: Step) -> Outcome:
    """Keep a guest after a cancelled move or resize, with its former resources.

    Raises GuestLost if the host does not have the guest.
    """
    try:
        return _keep(step)
    except exception.OperationFailed as error:
        if _find_guest(step) is not None:
            raise
        raise exception.GuestLost(**error.kwargs) from error


def _keep(step: Step) -> Outcome:
    entry = step.entry
    is_on = bool(step.arguments.get("is_on"))
    former = None if entry is None else entry.former_place
    if entry is not None and entry.is_resized_from(step.instance):
        guest = step.driver.resize(step.instance, former or step.place, is_on=is_on)
    elif is_on:
        guest = step.driver.power_on(step.instance, step.place)
    else:
        guest = step.driver.power_off(step.uuid, grace_seconds=0.0)
    return Outcome.of(guest, Change(instance=step.instance, place=former, drops_former=True))


def drop(step: Step) -> Outcome:
    """Remove the instance from this host."""
    step.driver.destroy(step.uuid)
    return Outcome(Change(is_gone=True))


def describe_live(step: Step) -> Outcome:
    """Return what a destination must know about a running guest."""
    return Outcome(answer=CommandAnswer(source=step.driver.describe_live(step.uuid)))


def live_migrate(step: Step) -> Outcome:
    """Migrate the running guest, unless the migration was aborted while it was queued.

    Raises Postponed while it is unknown whether the guest has left: its copy would be destroyed.
    """
    has_begun = step.entry is not None and step.entry.state is State.LEAVING
    if not has_begun and step.watch.is_aborted():
        raise exception.LiveMigrationAborted(instance_uuid=step.uuid)
    step.write(Change(state=State.LEAVING))
    total_mb = step.instance.flavor.memory_mb
    step.watch.progress(total_mb=total_mb, remaining_mb=total_mb)  # no longer queued
    destination = step.arguments.get("destination") or {}
    try:
        step.driver.live_migrate(step.instance, destination, step.watch)
    except exception.Unavailable as error:
        raise Postponed(_reason(error)) from error
    return Outcome()


VERBS: dict[Verb, Callable[[Step], Outcome]] = {
    Verb.POWER_OFF: power_off,
    Verb.POWER_ON: power_on,
    Verb.REBOOT: reboot,
    Verb.PAUSE: pause,
    Verb.UNPAUSE: unpause,
    Verb.SUSPEND: suspend,
    Verb.RESUME: resume,
    Verb.RESCUE: rescue,
    Verb.UNRESCUE: unrescue,
    Verb.SNAPSHOT: snapshot,
    Verb.REBUILD: rebuild,
    Verb.CLAIM: claim,
    Verb.SPAWN: spawn,
    Verb.ATTACH: attach,
    Verb.PREPARE_LIVE: prepare_live,
    Verb.COMPLETE_LIVE: complete_live,
    Verb.DETACH: detach,
    Verb.KEEP: keep,
    Verb.DROP: drop,
    Verb.DESCRIBE_LIVE: describe_live,
    Verb.LIVE_MIGRATE: live_migrate,
    Verb.RESIZE: resize,
    Verb.SETTLE: settle,
}
