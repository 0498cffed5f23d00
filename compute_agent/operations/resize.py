"""Resize on the same host: both sizes stay claimed until the resize is confirmed."""

from __future__ import annotations

from compute_agent.host.instance_topology import InstancePlacement
from compute_agent.journal.command_log import Change
from compute_agent.operations.step import Outcome, Step, Superseded, power_of, state_of


def resize(step: Step) -> Outcome:
    """Claim the new resources in addition to the old, and give the guest its new flavor."""
    place = _claim(step)
    guest = step.driver.resize(step.instance, place, is_on=bool(step.arguments.get("is_on")))
    return Outcome(Change(state=state_of(guest), exit_code=guest.exit_code), power_of(guest))


def settle(step: Step) -> Outcome:
    """Release the old resources."""
    return Outcome(Change(drops_former=True))


def _claim(step: Step) -> InstancePlacement:
    entry, spec = step.entry, step.command.request_spec
    if entry is None or spec is None:
        raise step.fail("the guest does not exist here, or the command has no request spec")
    if entry.attempt == step.instance.attempt:
        return step.place

    def write(place: InstancePlacement) -> bool:
        return step.write(
            Change(instance=step.instance, request_spec=spec, place=place, keeps_former=True)
        )

    place = step.claims.claim_arrival(step.context, step.instance, spec, write)
    if place is None:
        raise Superseded
    return place
