"""Table of the functions that execute each verb."""

from __future__ import annotations

from collections.abc import Callable

from compute_agent.operations import arrival, departure, power, resize
from compute_agent.operations.step import Outcome, Step
from objects.instances.instance_command import Verb

VERBS: dict[Verb, Callable[[Step], Outcome]] = {
    Verb.POWER_OFF: power.power_off,
    Verb.POWER_ON: power.power_on,
    Verb.REBOOT: power.reboot,
    Verb.REBUILD: power.rebuild,
    Verb.CLAIM: arrival.claim,
    Verb.SPAWN: arrival.spawn,
    Verb.ATTACH: arrival.attach,
    Verb.PREPARE_LIVE: arrival.prepare_live,
    Verb.COMPLETE_LIVE: arrival.complete_live,
    Verb.DETACH: departure.detach,
    Verb.KEEP: departure.keep,
    Verb.DROP: departure.drop,
    Verb.DESCRIBE_LIVE: departure.describe_live,
    Verb.LIVE_MIGRATE: departure.live_migrate,
    Verb.RESIZE: resize.resize,
    Verb.SETTLE: resize.settle,
}
