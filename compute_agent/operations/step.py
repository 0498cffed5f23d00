"""What a step is given, and what it leaves behind."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from compute_agent.claims import Claims
from compute_agent.instance_place import ANYWHERE, InstancePlace
from compute_agent.journal import Entry, State
from compute_agent.order_book import NO_CHANGE, Change
from compute_agent.virt.driver import ComputeDriver, GuestInfo, LiveWatch
from objects.instance import Instance
from objects.instance_order import InstanceOrder

RUNNING = "running"


class Overtaken(Exception):
    """The order is of no interest any more: leave all as it is, and say nothing."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """An order in hand. ``write`` stores a change in the middle; false when it was overtaken."""

    conf: cfg.ConfigOpts
    context: RequestContext
    order: InstanceOrder
    entry: Entry | None
    driver: ComputeDriver
    claims: Claims
    watch: LiveWatch
    write: Callable[[Change], bool]

    @property
    def instance(self) -> Instance:
        return self.order.instance

    @property
    def uuid(self) -> str:
        return str(self.order.instance.uuid)

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.order.arguments

    @property
    def place(self) -> InstancePlace:
        """Where the instance sits on this host."""
        place = None if self.entry is None else self.entry.place
        return place or ANYWHERE

    @property
    def grace_seconds(self) -> float:
        return float(self.conf.compute.shutdown_timeout_seconds)

    def fail(self, reason: str) -> exception.OperationFailed:
        """Return the error of this step."""
        return exception.OperationFailed(
            operation=self.order.verb, instance_uuid=self.uuid, host=self.order.host, reason=reason
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an entry, and what the conductor is told."""

    change: Change = NO_CHANGE
    answer: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def state_of(guest: GuestInfo) -> State:
    """Return the state of an entry whose guest is in its place."""
    return State.RUNNING if guest.power_state == RUNNING else State.ENDED


def power_of(guest: GuestInfo) -> dict[str, Any]:
    """Return what the conductor is told of a guest."""
    return {"power_state": guest.power_state, "exit_code": guest.exit_code}
