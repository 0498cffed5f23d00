"""The origin's part of an explanation: attempts in several zones, weights of the joined list."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from conductor.common.cell_db.actions import ERROR
from conductor.super_conductor.servers.decisions import CREATE
from objects.instances.explanation import BuildAttempt, Explanation
from objects.traces.decision_trace import Plain
from objects.zones.zone_answer import entry_name

_FAILED = "the build failed in another zone"
_AWAY = "the zone could not be reached"


def is_of_create(found: Explanation) -> bool:
    """Return whether an explanation is about the first build of a server."""
    return found.decision is None or found.decision.operation == CREATE


def with_walk(found: Explanation, walk: Mapping[str, Any], *, with_hosts: bool) -> Explanation:
    """Return an explanation with the walk's failed attempts before those of the last zone.

    Without hosts, neither places nor the zones' reasons are told, which may name hosts.
    """
    failed = [
        BuildAttempt(
            number,
            _name(each) if with_hosts else None,
            ERROR,
            each["reason"] if with_hosts else _AWAY if each.get("unreached_at") else _FAILED,
        )
        for number, each in enumerate(_told(walk), 1)
    ]
    last = [
        dataclasses.replace(each, attempt=each.attempt + len(failed)) for each in found.attempts
    ]
    faults = [
        fault.with_values(attempt=fault.attempt + len(failed)) if fault.attempt else fault
        for fault in found.faults
    ]
    instance = found.instance
    if instance.attempt:
        instance = instance.with_values(attempt=instance.attempt + len(failed))
    return dataclasses.replace(found, instance=instance, attempts=[*failed, *last], faults=faults)


def choice_at(choice: Plain, walk: Mapping[str, Any], host: str | None) -> Plain:
    """Return a choice with the host that built the instance first, under its name in its zone."""
    built = entry_name(_path(walk["zone"]), walk["host_id"])
    ranked = [choice, *choice["runners_up"]]
    at = next((at for at, one in enumerate(ranked) if one["host"] == built), 0)
    is_known = ranked[at]["host"] == built
    first = {**ranked[at], "host": host} if is_known and host else ranked[at]
    others = [_as_runner_up(one) for rank, one in enumerate(ranked) if rank != at]
    return {**choice, **first, "runners_up": others}


def _as_runner_up(one: Plain) -> Plain:
    return {name: one[name] for name in ("host", "weight", "shares")}


def _told(walk: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the failures, without zones that were unreachable and got the server in the end."""
    failures: list[Mapping[str, Any]] = walk["failures"]
    last = walk["zone"], walk["host_id"]
    return [
        each
        for each in failures
        if not (each.get("unreached_at") and (each["zone"], each["host_id"]) == last)
    ]


def _name(failure: Mapping[str, Any]) -> str:
    return entry_name(_path(failure["zone"]), failure["host_id"] or "")


def _path(text: str | None) -> list[str]:
    return text.split("/") if text else []
