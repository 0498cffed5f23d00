"""Random trees of providers, and random questions for allocation candidates."""

from typing import Any
from urllib.parse import urlencode

from tests.conformance.stories import (
    ABSENT,
    AGGREGATES,
    CLASSES,
    CONSUMERS,
    LATEST,
    PROVIDERS,
    SHARING,
    TRAITS,
    Story,
    figures,
    set_inventories,
)


def make_topology(story: Story) -> None:
    """Make trees and sharing providers with inventories, traits, aggregates, some in use."""
    story.version = LATEST
    for name in CLASSES[3:]:
        story.send("PUT", f"/resource_classes/{name}", is_plain=True)
    for name in TRAITS[2:]:
        story.send("PUT", f"/traits/{name}", is_plain=True)
    made: list[str] = []
    for number, uuid in enumerate(PROVIDERS[: story.rng.randint(1, len(PROVIDERS))]):
        parent = story.rng.choice(made) if made and story.chance(0.6) else None
        body: Any = {"uuid": uuid, "name": f"provider-{number}", "parent_provider_uuid": parent}
        story.send("POST", "/resource_providers", body, is_plain=True)
        made.append(uuid)
        if story.chance(0.85):
            names = story.rng.sample(CLASSES, story.rng.randint(1, 3))
            set_inventories(story, uuid, {name: figures(story, least_total=2) for name in names})
        traits = story.some([*TRAITS, *([SHARING] * 3 if parent is None else [])], 3)
        if traits:
            body = {"traits": sorted({*traits}), "resource_provider_generation": _now(story, uuid)}
            story.send("PUT", f"/resource_providers/{uuid}/traits", body, is_plain=True)
        if aggregates := story.some(AGGREGATES, 2):
            body = {"aggregates": aggregates, "resource_provider_generation": _now(story, uuid)}
            story.send("PUT", f"/resource_providers/{uuid}/aggregates", body, is_plain=True)
    for consumer in story.some(CONSUMERS, 2):
        uuid = story.rng.choice(made)
        body = {
            "allocations": {uuid: {"resources": {story.rng.choice(CLASSES): story.pick(1, 2)}}},
            "project_id": "p1",
            "user_id": "u1",
            "consumer_generation": None,
            "consumer_type": "INSTANCE",
        }
        story.send("PUT", f"/allocations/{consumer}", body, is_plain=True)


def _now(story: Story, provider: str) -> int:
    return int(
        story.send("GET", f"/resource_providers/{provider}", is_plain=True).json["generation"]
    )


def ask_for_candidates(story: Story) -> None:
    """Ask one question; it knows what its version knows, mostly."""
    version = story.version
    suffixes = [""]
    if version >= (1, 25):
        suffixes += ["1", "2", "3"]
    if version >= (1, 33):
        suffixes += ["_A", "_b-2", "x" * 31, "x" * 32, "y" * 64]
    query: list[tuple[str, str]] = []
    chosen = story.rng.sample(suffixes, min(len(suffixes), story.pick(1, 1, 2, 2, 3, 4)))
    for suffix in chosen:
        if not (version >= (1, 36) and suffix and story.chance(0.15)):
            names = story.rng.sample(CLASSES, story.pick(1, 1, 1, 2, 3))
            amounts = ",".join(f"{name}:{story.pick(1, 1, 1, 2, 3, 8)}" for name in names)
            query.append((f"resources{suffix}", amounts))
        if version >= (1, 17) and story.chance(0.3):
            query.append((f"required{suffix}", _traits_asked(story)))
            if version >= (1, 39) and story.chance(0.2):
                query.append((f"required{suffix}", _traits_asked(story)))
        if version >= (1, 21) and story.chance(0.2):
            query.append((f"member_of{suffix}", _aggregates_asked(story)))
            if version >= (1, 24) and story.chance(0.2):
                query.append((f"member_of{suffix}", _aggregates_asked(story)))
        if version >= (1, 31) and story.chance(0.1):
            query.append((f"in_tree{suffix}", story.pick(*PROVIDERS, ABSENT)))
    if version >= (1, 25) and (len(chosen) > 1 or story.chance(0.1)):
        query.append(("group_policy", story.pick("none", "none", "isolate")))
    if version >= (1, 35) and story.chance(0.1):
        query.append(("root_required", _traits_asked(story).removeprefix("in:")))
    together = [suffix for suffix in chosen if suffix]
    if version >= (1, 36) and together and story.chance(0.35):
        query.append(
            (
                "same_subtree",
                ",".join(story.rng.sample(together, story.rng.randint(1, len(together)))),
            )
        )
    if story.chance(0.04):
        query.append(
            (
                story.pick("limit", "group_policy", "foo", "resources", "root_required"),
                story.pick("0", "x", ""),
            )
        )
    story.send("GET", f"/allocation_candidates?{urlencode(query)}")


def _traits_asked(story: Story) -> str:
    names = story.rng.sample(TRAITS, story.pick(1, 1, 2))
    if story.version >= (1, 39) and story.chance(0.3):
        return "in:" + ",".join(names)
    marks = ["", "", "!"] if story.version >= (1, 22) else [""]
    return ",".join(story.rng.choice(marks) + name for name in names)


def _aggregates_asked(story: Story) -> str:
    mark = story.pick("", "", "!") if story.version >= (1, 32) else ""
    names = story.rng.sample(AGGREGATES, story.pick(1, 1, 2))
    return f"{mark}in:{','.join(names)}" if len(names) > 1 else f"{mark}{names[0]}"
