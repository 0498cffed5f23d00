"""Parsing of request streams: kinds of requests, arrival rates and lifetimes."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator.load.durations import ENDLESS, parse_duration
from simulator.scenario.scenario import INSTANCES_MAX, REQUESTS_MAX, Arrivals, GroupRules, Stream
from simulator.scenario.scenario_errors import Place, ScenarioError, found

GROUP_HINT = "group"


@dataclass(frozen=True, slots=True)
class Names:
    """Names that requests may use."""

    flavors: Collection[str]
    images: Collection[str]
    zones: Collection[str]
    groups: Mapping[str, GroupRules]


def parse_streams(
    documents: Sequence[Mapping[str, Any]], names: Names, duration_seconds: float
) -> list[Stream]:
    """Return the streams. Raises ``ScenarioError``."""
    streams: list[Stream] = []
    requests = instances = 0.0
    for index, document in enumerate(documents):
        place = ("load", index)
        stream = _stream(document, place, names)
        if any(other.name == stream.name for other in streams):
            raise ScenarioError((*place, "name"), f"duplicate stream name {stream.name}")
        streams.append(stream)
        seconds = min(stream.end_seconds, duration_seconds) - stream.start_seconds
        expected = max(seconds, 0.0) * stream.arrivals.mean_per_second
        requests += expected
        instances += expected * (stream.count_min + stream.count_max) / 2
        if requests > REQUESTS_MAX or instances > INSTANCES_MAX:
            raise ScenarioError(
                (*place, "arrivals"),
                f"about {requests:,.0f} requests for {instances:,.0f} instances would come; "
                f"allowed are {REQUESTS_MAX:,} for {INSTANCES_MAX:,}",
            )
    return streams


def parse_group(document: Mapping[str, Any], place: Place) -> GroupRules:
    """Return the rules of a server group. Raises ``ScenarioError``."""
    most = document.get("max_server_per_host")
    if most is not None and document["policy"] != "anti-affinity":
        raise ScenarioError(
            (*place, "max_server_per_host"), "allowed for the policy anti-affinity only"
        )
    return GroupRules(document["policy"], most)


def hint_lists(hints: Mapping[str, str | Sequence[str]]) -> dict[str, list[str]]:
    """Return hints with a list of values each."""
    return {
        name: [value] if isinstance(value, str) else list(value) for name, value in hints.items()
    }


def check_group_hint(hints: Mapping[str, list[str]], names: Names, place: Place) -> None:
    """Raise ``ScenarioError`` unless the hint ``group`` is absent or names a group here."""
    named = hints.get(GROUP_HINT, [])
    if not named:
        return
    if len(named) > 1:
        raise ScenarioError((*place, GROUP_HINT), "a request can be in only one group")
    check_known(named[0], names.groups, "groups", (*place, GROUP_HINT))


def check_known(name: str, known: Collection[str], what: str, place: Place) -> None:
    """Raise ``ScenarioError`` unless a name is known."""
    if name not in known:
        allowed = ", ".join(sorted(known)) or f"none, as the scenario has no {what}"
        raise ScenarioError(place, f"found {found(name)}; allowed are {allowed}")


def _stream(document: Mapping[str, Any], place: Place, names: Names) -> Stream:
    for field, known in (
        ("flavors", names.flavors), ("images", names.images), ("zones", names.zones)
    ):  # fmt: skip
        for name in document.get(field, {}):
            check_known(name, known, field, (*place, field))
    hints = hint_lists(document.get("hints", {}))
    check_group_hint(hints, names, (*place, "hints"))
    shared = next(iter(hints.pop(GROUP_HINT, [])), None)
    group = document.get("group")
    if group and shared:
        raise ScenarioError(
            (*place, "group"), "the hint group is given, too; a request can be in only one group"
        )
    start, end = document.get("start_seconds", 0.0), document.get("end_seconds", float("inf"))
    if end <= start:
        raise ScenarioError((*place, "end_seconds"), f"found {end}; allowed is more than {start}")
    count_min, count_max = _counts(document.get("count", 1), (*place, "count"))
    return Stream(
        name=document.get("name", f"stream-{int(place[-1]) + 1}"),
        arrivals=_arrivals(document["arrivals"]),
        flavors=document["flavors"],
        images=document.get("images", {}),
        zones=document.get("zones", {}),
        count_min=count_min,
        count_max=count_max,
        lifetime=parse_duration(document["lifetime"], (*place, "lifetime"), may_be_endless=True)
        if "lifetime" in document
        else ENDLESS,
        hints=hints,
        group=parse_group(group, (*place, "group")) if group else names.groups.get(shared or ""),
        group_name=shared,
        group_requests=group.get("requests", 1) if group else 1,
        project=document.get("project", "simulated"),
        start_seconds=float(start),
        end_seconds=float(end),
    )


def _arrivals(document: Mapping[str, Any]) -> Arrivals:
    ((kind, given),) = document.items()
    if kind == "bursts":
        return Arrivals(
            kind, every_seconds=float(given["every_seconds"]), requests=given["requests"]
        )
    return Arrivals(kind, per_second=float(given))


def _counts(value: Any, place: Place) -> tuple[int, int]:
    if isinstance(value, int):
        return value, value
    if value[0] > value[1]:
        raise ScenarioError(
            place, f"found {found(value)}; allowed is [FROM, TO] with FROM below TO"
        )
    return value[0], value[1]
