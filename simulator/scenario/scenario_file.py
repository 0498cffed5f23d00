"""Parsing of scenario files; all errors are found before the simulation starts."""

import dataclasses
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from objects.aggregate import AVAILABILITY_ZONE_KEY
from objects.flavor import Flavor
from objects.images.image_meta import ImageMeta
from simulator.fleet.host_shapes import parse_hosts
from simulator.load.durations import AT_ONCE, Duration, parse_duration
from simulator.load.streams import Names, parse_group, parse_streams
from simulator.scenario import yaml_document as documents
from simulator.scenario.scenario import (
    Builds,
    GroupRules,
    HostFailures,
    HostShape,
    Outage,
    Scenario,
)
from simulator.scenario.scenario_errors import ScenarioError
from simulator.scenario.scenario_schema import SCENARIO
from simulator.zones.tree import check_hosts, parse_tree

Document = Mapping[str, Any]

SEED = 1
PUSH_INTERVAL_SECONDS = 1.0
REPAIR = Duration("fixed", 3600.0)
_IMAGES = uuid.UUID("6c1f6ac0-5a5c-4f0b-9c53-3a4f60ce9a0e")


def read_scenario(path: Path, *, seed: int | None = None) -> Scenario:
    """Return the scenario of a file; ``seed`` overrides its own.

    Raises ``BadScenario`` with the file, the location in it, what was found and what is allowed.
    """
    document = documents.read_document(path, SCENARIO)
    try:
        scenario = _scenario(path, document)
    except ScenarioError as mistake:
        raise documents.at(path, mistake) from None
    return scenario if seed is None else dataclasses.replace(scenario, seed=seed)


def names_of(scenario: Scenario) -> Names:
    return Names(scenario.flavors, scenario.images, scenario.zones, scenario.groups)


def _scenario(path: Path, document: Document) -> Scenario:
    aggregates = _aggregates(document)
    shapes = parse_hosts(document["hosts"], aggregates)
    tree = parse_tree(document)
    if tree is not None:
        check_hosts(tree, shapes)
    else:
        _check_no_zones(document["hosts"])
    _check_zones(shapes, aggregates)
    load = document["load"]
    scenario = Scenario(
        file=path,
        title=document.get("title", path.stem),
        duration_seconds=float(document["duration_seconds"]),
        seed=document.get("seed", SEED),
        shapes=shapes,
        flavors={name: _flavor(name, item) for name, item in document["flavors"].items()},
        images={name: _image(name, item) for name, item in document.get("images", {}).items()},
        aggregates=aggregates,
        groups=_groups(document),
        streams=(),
        recorded=path.parent / load if isinstance(load, str) else None,
        failures=_failures(document.get("failures", {})),
        builds=_builds(document.get("builds", {})),
        push_interval_seconds=float(document.get("push_interval_seconds", PUSH_INTERVAL_SECONDS)),
        tree=tree,
    )
    if isinstance(load, str):
        return scenario
    streams = parse_streams(load, names_of(scenario), scenario.duration_seconds)
    return dataclasses.replace(scenario, streams=streams)


def _check_no_zones(hosts: Sequence[Document]) -> None:
    for index, shape in enumerate(hosts):
        if "in_zones" in shape:
            raise ScenarioError(("hosts", index, "in_zones"), "the scenario has no zones")


def _aggregates(document: Document) -> dict[str, dict[str, str]]:
    aggregates = {}
    for name, metadata in document.get("aggregates", {}).items():
        if AVAILABILITY_ZONE_KEY in metadata:
            raise ScenarioError(
                ("aggregates", name, AVAILABILITY_ZONE_KEY),
                "set the zone of hosts with hosts[].zone instead",
            )
        aggregates[name] = _texts(metadata)
    return aggregates


def _check_zones(shapes: list[HostShape], aggregates: Mapping[str, Any]) -> None:
    for index, shape in enumerate(shapes):
        if shape.zone in aggregates:
            raise ScenarioError(
                ("hosts", index, "zone"), f"an aggregate is also named {shape.zone}"
            )


def _flavor(name: str, item: Document) -> Flavor:
    return Flavor.from_values(
        flavorid=name,
        name=name,
        vcpus=item["vcpus"],
        memory_mb=item["memory_mb"],
        root_gb=item.get("disk_gb", 0),
        ephemeral_gb=item.get("ephemeral_gb", 0),
        swap_mb=item.get("swap_mb", 0),
        extra_specs=_texts(item.get("extra_specs", {})),
    )


def _image(name: str, item: Document) -> ImageMeta:
    return ImageMeta.from_values(
        id=str(uuid.uuid5(_IMAGES, name)),
        name=name,
        disk_format=item.get("disk_format"),
        min_ram_mb=item.get("min_ram_mb", 0),
        min_disk_gb=item.get("min_disk_gb", 0),
        properties=_texts(item.get("properties", {})),
    )


def _groups(document: Document) -> dict[str, GroupRules]:
    return {
        name: parse_group(item, ("groups", name))
        for name, item in document.get("groups", {}).items()
    }


def _failures(item: Document) -> HostFailures:
    repair = parse_duration(item["repair"], ("failures", "repair")) if "repair" in item else REPAIR
    outages = [
        Outage(
            at_seconds=float(outage["at_seconds"]),
            hosts=outage["hosts"],
            repair=parse_duration(
                outage["repair"], ("failures", "outages", index, "repair"), may_be_endless=True
            )
            if "repair" in outage
            else repair,
        )
        for index, outage in enumerate(item.get("outages", ()))
    ]
    return HostFailures(
        mean_seconds_between=item.get("mean_seconds_between"),
        repair=repair,
        notice_seconds=float(item.get("notice_seconds", 60.0)),
        keeps_instances=item.get("instances") == "kept",
        outages=outages,
    )


def _builds(item: Document) -> Builds:
    return Builds(
        seconds=parse_duration(item["seconds"], ("builds", "seconds"))
        if "seconds" in item
        else AT_ONCE,
        failure_rate=float(item.get("failure_rate", 0.0)),
        failing_hosts=tuple(item.get("failing_hosts", ())),
    )


def _texts(values: Document) -> dict[str, str]:
    return {key: _text(value) for key, value in values.items()}


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
