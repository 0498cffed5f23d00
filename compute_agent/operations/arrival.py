"""At a destination: set resources aside, then take a guest over, or build it."""

from __future__ import annotations

from compute_agent.instance_place import InstancePlace
from compute_agent.journal import State
from compute_agent.operations.step import Outcome, Overtaken, Step, power_of, state_of
from compute_agent.order_book import Change


def claim(step: Step) -> Outcome:
    """Set aside what the instance needs here."""
    claim_place(step)
    return Outcome()


def claim_place(step: Step) -> InstancePlace:
    """Claim, and write it down; what was claimed for this very attempt is where it was."""
    if _is_claimed(step):
        return step.place
    spec = step.order.request_spec
    if spec is None:
        raise step.fail("the order does not say what is to be claimed")

    def write(place: InstancePlace) -> bool:
        return step.write(
            Change(state=State.ARRIVING, instance=step.instance, request_spec=spec, place=place)
        )

    place = step.claims.claim_arrival(step.context, step.instance, spec, write)
    if place is None:
        raise Overtaken
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
        step.arguments.get("luggage") or {},
        is_on=bool(step.arguments.get("is_on")),
    )
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))


def spawn(step: Step) -> Outcome:
    """Build the guest here, where it was claimed for."""
    guest = step.driver.spawn(step.instance, step.place)
    if not step.arguments.get("is_on", True):
        guest = step.driver.power_off(step.uuid, grace_seconds=step.grace_seconds)
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))


def prepare_live(step: Step) -> Outcome:
    """Set resources aside, and get ready to receive a running guest."""
    place = claim_place(step)
    destination = step.driver.prepare_live(step.instance, place, step.arguments.get("source") or {})
    return Outcome(answer={"destination": destination})


def complete_live(step: Step) -> Outcome:
    """Make a guest that has arrived one like any other."""
    guest = step.driver.complete_live(step.instance, step.place)
    change = Change(state=state_of(guest), instance=step.instance, exit_code=guest.exit_code)
    return Outcome(change, power_of(guest))
