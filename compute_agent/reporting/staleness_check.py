"""Staleness check: ask the conductor before executing commands that it may have given up.

A conductor lease tells whether that is possible.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from oslo_config import cfg

from armillary import exception
from armillary.context import RequestContext
from compute_agent import boot_clock
from compute_agent.environment import Environment
from compute_agent.journal.journal import Entry
from objects.instance import Instance
from objects.instances.instance_command import InstanceCommand

LOG = logging.getLogger(__name__)


class StalenessCheck:
    """Checks whether builds and commands in the journal are still current.

    Raises Unavailable or RpcFailed if the conductor has to be asked and does not answer, and while
    the agent is not admitted; the work is resumed later.
    """

    def __init__(self, env: Environment, conductor_lease: ConductorLease) -> None:
        self._conductor_lease = conductor_lease
        self._env = env

    def is_build_wanted(self, context: RequestContext, entry: Entry) -> bool:
        """Return whether an attempt is current and still to be built."""
        self._check_admission()
        if not self._conductor_lease.is_in_doubt():
            return True
        return self._env.conductor.is_build_wanted(
            context, self._env.agent, entry.host, entry.instance_uuid, entry.attempt
        )

    def find_built(self, context: RequestContext, entry: Entry) -> Instance | None:
        """Return the instance of a build that the conductor has as built on the entry's host."""
        listed = self._env.conductor.list_host_instances(context, self._env.agent, [entry.host])
        for instance in listed:
            is_later = instance.uuid == entry.instance_uuid and instance.attempt >= entry.attempt
            if is_later and instance.vm_state != "building" and instance.task_state != "deleting":
                return instance
        return None

    def is_command_wanted(self, context: RequestContext, command: InstanceCommand) -> bool:
        """Return whether the conductor still waits for a command's answer."""
        self._check_admission()
        if not self._conductor_lease.is_in_doubt():
            return True
        return self._env.conductor.is_command_wanted(context, self._env.agent, command.id)

    def _check_admission(self) -> None:
        """Raise Unavailable unless this is the one agent of its name."""
        if not self._env.is_admitted():
            raise exception.Unavailable(reason=f"agent {self._env.agent} is not admitted yet")


OUT_OF_REACH = (exception.Unavailable, exception.RpcFailed)


class ConductorLease:
    """Tracks answered heartbeats. Thread-safe.

    A conductor that receives no heartbeat of a host for ``[DEFAULT] service_down_time`` moves its
    builds and operations to other hosts. Commands sent to the host earlier may still be in its
    journal or on their way. The agent's commands are therefore in doubt in three cases: after
    startup, when no heartbeat was answered for half of that time, and for all of that time after
    such a gap, by which delayed messages have arrived.
    """

    def __init__(
        self, conf: cfg.ConfigOpts, clock: Callable[[], float] = boot_clock.seconds
    ) -> None:
        self._conf = conf
        self._clock = clock
        self._lock = threading.Lock()
        self._heard_of_at = float("-inf")
        self._returned_at = float("-inf")
        self._doubts_until = float("inf")

    def answered(self, asked_at: float) -> None:
        """Record the answer to a heartbeat sent at ``asked_at`` (seconds of the clock)."""
        with self._lock:
            if asked_at - self._heard_of_at > self._silence_seconds_max:
                self._doubts_until = self._clock() + self._conf.service_down_time
                self._returned_at = asked_at
            self._heard_of_at = max(asked_at, self._heard_of_at)

    @property
    def heard_of_at(self) -> float:
        """When the last answered heartbeat was sent, by the clock."""
        return self._heard_of_at

    @property
    def returned_at(self) -> float:
        """When the first heartbeat after the last gap was sent that was answered."""
        return self._returned_at

    def silent_seconds(self) -> float:
        """Return the seconds since the last answered heartbeat was sent."""
        return self._clock() - self._heard_of_at

    def is_in_doubt(self) -> bool:
        """Return whether the agent's commands may be obsolete."""
        now = self._clock()
        with self._lock:
            is_silent = now - self._heard_of_at > self._silence_seconds_max
            return is_silent or now < self._doubts_until

    @property
    def _silence_seconds_max(self) -> float:
        return float(self._conf.service_down_time) / 2
