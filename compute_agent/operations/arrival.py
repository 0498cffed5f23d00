"""Steps at a destination: claim resources, then take over or build the guest."""

from __future__ import annotations

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.command_log import Change
from compute_agent.journal.journal import State
from compute_agent.operations.step import Outcome, Step, Superseded, power_of, state_of


def claim(step: Step) -> Outcome:
    """Claim the resources that the instance needs here."""
    claim_place(step)
    return Outcome()


def claim_place(step: Step) -> InstancePlacement:
    """Claim and record it; an existing claim of the same attempt is kept."""
    if _is_claimed(step):
        return step.place
    spec = step.command.request_spec
    if spec is None:
        raise step.fail("the command has no request spec, so nothing can be claimed")

    def write(place: InstancePlacement) -> bool:
        return step.write(
            Change(state=State.ARRIVING, instance=step.instance, request_spec=spec, place=place)
        )

    place = step.claims.claim_arrival(step.context, step.instance, spec, write)
    if place is None:
        raise Superseded
    return place


def _is_claimed(step: Step) -> bool:
    entry, instance = step.entry, step.instance
    return (
        entry is not None
        and entry.state is State.ARRIVING
        and entry.attempt == instance.attempt
        and not entry.is_resized_from(instance)
    )


def attach(step: Step) -> Outcome:
    """Take over a guest that was detached at its source."""
    guest = step.driver.attach(
        step.instance,
        step.place,
        step.arguments.get("migration_payload") or {},
        is_on=bool(step.arguments.get("is_on")),
    )
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))


def spawn(step: Step) -> Outcome:
    """Build the guest where it was claimed."""
    guest = step.driver.spawn(step.instance, step.place)
    if not step.arguments.get("is_on", True):
        guest = step.driver.power_off(step.uuid, grace_seconds=step.grace_seconds)
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))


def prepare_live(step: Step) -> Outcome:
    """Claim resources, and prepare to receive a running guest."""
    place = claim_place(step)
    destination = step.driver.prepare_live(step.instance, place, step.arguments.get("source") or {})
    return Outcome(answer={"destination": destination})


def complete_live(step: Step) -> Outcome:
    """Finish a live migration at the destination."""
    guest = step.driver.complete_live(step.instance, step.place)
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))
