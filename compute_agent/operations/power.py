"""Steps on a guest that stays on its host: power off and on, reboot, rebuild."""

from __future__ import annotations

from compute_agent.journal.command_log import Change
from compute_agent.journal.journal import State
from compute_agent.operations.step import Outcome, Step, power_of, state_of
from compute_agent.virt.driver import GuestInfo


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


def rebuild(step: Step) -> Outcome:
    """Destroy the guest and build it again from the command's image."""
    if not step.write(Change(state=State.ENDED, instance=step.instance)):
        return Outcome()
    step.driver.destroy(step.uuid)
    guest = step.driver.spawn(step.instance, step.place)
    if not step.arguments.get("is_on", True):
        guest = step.driver.power_off(step.uuid, grace_seconds=step.grace_seconds)
    return Outcome(Change(state=state_of(guest), exit_code=guest.exit_code), power_of(guest))


def _in_place(step: Step, guest: GuestInfo) -> Outcome:
    """Record the guest's state, and its attempt in case a move returned unnoticed."""
    entry = step.entry
    is_known = entry is None or entry.attempt == step.instance.attempt
    change = Change(
        state=state_of(guest),
        instance=None if is_known else step.instance,
        exit_code=guest.exit_code,
    )
    return Outcome(change, power_of(guest))
