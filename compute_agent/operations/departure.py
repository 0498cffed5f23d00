"""Steps at a source: hand a guest over, keep it, or remove it."""

from __future__ import annotations

from armillary import exception
from compute_agent.journal.command_log import Change
from compute_agent.journal.journal import State
from compute_agent.operations.step import Outcome, Step, power_of, state_of


def detach(step: Step) -> Outcome:
    """Power the guest off, and return what the destination needs to take it over."""
    migration_payload = step.driver.detach(step.uuid, grace_seconds=step.grace_seconds)
    return Outcome(Change(state=State.LEAVING), {"migration_payload": migration_payload})


def keep(step: Step) -> Outcome:
    """Keep a guest after a cancelled move or resize, with its former resources."""
    entry = step.entry
    is_on = bool(step.arguments.get("is_on"))
    former = None if entry is None else entry.former_place
    if entry is not None and entry.is_resized_from(step.instance):
        guest = step.driver.resize(step.instance, former or step.place, is_on=is_on)
    elif is_on:
        guest = step.driver.power_on(step.instance, step.place)
    else:
        guest = step.driver.power_off(step.uuid, grace_seconds=0.0)
    change = Change(
        state=state_of(guest),
        instance=step.instance,
        place=former,
        exit_code=guest.exit_code,
        drops_former=True,
    )
    return Outcome(change, power_of(guest))


def drop(step: Step) -> Outcome:
    """Remove the instance from this host."""
    step.driver.destroy(step.uuid)
    return Outcome(Change(is_gone=True))


def describe_live(step: Step) -> Outcome:
    """Return what a destination must know about a running guest."""
    return Outcome(answer={"source": step.driver.describe_live(step.uuid)})


def live_migrate(step: Step) -> Outcome:
    """Migrate the running guest, unless the migration was aborted while it was queued."""
    has_begun = step.entry is not None and step.entry.state is State.LEAVING
    if not has_begun and step.watch.is_aborted():
        raise exception.LiveMigrationAborted(instance_uuid=step.uuid)
    step.write(Change(state=State.LEAVING))
    total_mb = step.instance.flavor.memory_mb
    step.watch.progress(total_mb=total_mb, remaining_mb=total_mb)  # no longer queued
    step.driver.live_migrate(step.instance, step.arguments.get("destination") or {}, step.watch)
    return Outcome()
