"""Input and outcome of an operation step."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Self

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from compute_agent.host.claims import Claims
from compute_agent.host.instance_topology import ANYWHERE, InstancePlacement
from compute_agent.journal.command_log import NO_CHANGE, Change
from compute_agent.journal.journal import Entry, State
from compute_agent.virt.driver import ComputeDriver, GuestInfo, LiveWatch
from compute_agent.virt.image_service import ImageService
from objects.images import guest_properties
from objects.instance import Instance
from objects.instances.instance_command import NO_ANSWER, CommandAnswer, InstanceCommand


class Superseded(Exception):
    """The command was superseded: change nothing and send no answer."""


class Postponed(Exception):
    """The hypervisor is unreachable: send no answer; the journal has the command begun again."""


@dataclasses.dataclass(frozen=True, slots=True)
class Step:
    """A command in progress. ``write`` saves an intermediate change; False if superseded."""

    conf: cfg.ConfigOpts
    context: RequestContext
    command: InstanceCommand
    entry: Entry | None
    driver: ComputeDriver
    claims: Claims
    watch: LiveWatch
    image_service: ImageService
    write: Callable[[Change], bool]

    @property
    def instance(self) -> Instance:
        return self.command.instance

    @property
    def uuid(self) -> str:
        return str(self.command.instance.uuid)

    @property
    def arguments(self) -> Mapping[str, Any]:
        return self.command.arguments

    @property
    def place(self) -> InstancePlacement:
        """The instance's placement on this host."""
        place = None if self.entry is None else self.entry.place
        return place or ANYWHERE

    @property
    def grace_seconds(self) -> float:
        """Time that the guest has to shut down: its image's, or else the option's."""
        of_image = guest_properties.shutdown_seconds(self.instance.image)
        if of_image is not None:
            return of_image
        return float(self.conf.compute.shutdown_timeout_seconds)

    def fail(self, reason: str) -> exception.OperationFailed:
        return exception.OperationFailed(
            operation=self.command.verb,
            instance_uuid=self.uuid,
            host=self.command.host,
            reason=reason,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Outcome:
    """The change to the journal entry, and the answer for the conductor."""

    change: Change = NO_CHANGE
    answer: CommandAnswer = NO_ANSWER

    @classmethod
    def of(cls, guest: GuestInfo, change: Change = NO_CHANGE) -> Self:
        """Return a change with the guest's state, and its power state as the answer."""
        state = State.ENDED if guest.is_off else State.RUNNING
        change = dataclasses.replace(change, state=state, exit_code=guest.exit_code)
        return cls(change, CommandAnswer(guest.power_state, guest.exit_code))
