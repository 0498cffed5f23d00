"""Another flavor on the same host: room for both until somebody confirms it."""

from __future__ import annotations

from compute_agent.instance_place import InstancePlace
from compute_agent.operations.step import Outcome, Overtaken, Step, power_of, state_of
from compute_agent.order_book import Change


def resize(step: Step) -> Outcome:
    """Claim the new room beside the old, and give the guest its new flavor."""
    place = _claim(step)
    guest = step.driver.resize(step.instance, place, is_on=bool(step.arguments.get("is_on")))
    return Outcome(Change(state=state_of(guest), exit_code=guest.exit_code), power_of(guest))


def settle(step: Step) -> Outcome:
    """Give up the old room."""
    return Outcome(Change(drops_former=True))


def _claim(step: Step) -> InstancePlace:
    entry, spec = step.entry, step.order.request_spec
    if entry is None or spec is None:
        raise step.fail("there is no such guest here, or nothing to claim")
    if entry.attempt == step.instance.attempt:
        return step.place

    def write(place: InstancePlace) -> bool:
        return step.write(
            Change(instance=step.instance, request_spec=spec, place=place, keeps_former=True)
        )

    place = step.claims.claim_arrival(step.context, step.instance, spec, write)
    if place is None:
        raise Overtaken
    return place
