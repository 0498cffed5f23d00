"""Random sequences of requests that change providers, names, allocations, and read them."""

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlencode

from tests.conformance.candidate_questions import ask_for_candidates
from tests.conformance.stories import (
    ABSENT,
    AGGREGATES,
    CLASSES,
    CONSUMERS,
    PROJECTS,
    PROVIDERS,
    SHARING,
    TRAITS,
    Story,
    Version,
    figures,
    set_inventories,
)


def play(story: Story, length: int) -> None:
    """Send requests until there were ``length`` operations, or the answers differ."""
    begin(story)
    for _ in range(length):
        if story.pair.has_drifted:
            return
        story.version = story.any_version()
        story.rng.choice(OPERATIONS)(story)


def begin(story: Story) -> None:
    """Make a class, traits and a few providers."""
    for name in CLASSES[3:4]:
        story.send("PUT", f"/resource_classes/{name}", is_plain=True)
    for name in TRAITS[2:3]:
        story.send("PUT", f"/traits/{name}", is_plain=True)
    for number, uuid in enumerate(PROVIDERS[:3]):
        body = {"uuid": uuid, "name": f"provider-{number}"}
        if number == 1:
            body["parent_provider_uuid"] = PROVIDERS[0]
        story.send("POST", "/resource_providers", body, is_plain=True)
        for_each = {name: {"total": 16} for name in CLASSES[:4]}
        set_inventories(story, uuid, for_each)


def _provider(story: Story) -> str:
    return (
        story.pick(*PROVIDERS[:3], *PROVIDERS, ABSENT)
        if not story.chance(0.03)
        else story.pick("x", "☃", PROVIDERS[0] + "0")
    )


def _path(*parts: str) -> str:
    return "/" + "/".join(quote(part, safe="") for part in parts)


def _create_provider(story: Story) -> None:
    body: dict[str, Any] = {"name": story.pick("a", "b", "provider-1", "☃", "x" * 200)}
    if story.chance(0.9):
        body["uuid"] = _provider(story)
    if story.version >= (1, 14) and story.chance(0.6):
        body["parent_provider_uuid"] = story.pick(None, _provider(story), _provider(story))
    if "uuid" not in body:  # it would get different ones
        body["name"] = ""
    story.send("POST", "/resource_providers", body)


def _update_provider(story: Story) -> None:
    body: dict[str, Any] = {"name": story.pick("a", "b", "c", "provider-0")}
    if story.version >= (1, 14) and story.chance(0.6):
        body["parent_provider_uuid"] = story.pick(None, _provider(story), _provider(story))
    story.send("PUT", _path("resource_providers", _provider(story)), body)


def _delete_provider(story: Story) -> None:
    story.send("DELETE", _path("resource_providers", _provider(story)))


def _show(story: Story) -> None:
    part = story.pick("", "inventories", "usages", "aggregates", "traits", "allocations")
    story.send("GET", _path("resource_providers", _provider(story), *([part] if part else [])))


def _put_inventories(story: Story) -> None:
    provider = _provider(story)
    body = {
        "resource_provider_generation": story.generation(provider)
        if len(provider) == 36 and provider.isascii()
        else 0,
        "inventories": {name: figures(story) for name in story.some(CLASSES, 4)},
    }
    story.send("PUT", _path("resource_providers", provider, "inventories"), body)


def _put_inventory(story: Story) -> None:
    provider = story.pick(*PROVIDERS[:3], ABSENT)
    body = {"resource_provider_generation": story.generation(provider), **figures(story)}
    name = story.pick(*CLASSES, "VGPU", "vcpu")
    story.send("PUT", _path("resource_providers", provider, "inventories", name), body)


def _post_inventory(story: Story) -> None:
    body = {"resource_class": story.pick(*CLASSES, "VGPU"), **figures(story)}
    if story.chance(0.3):
        body["resource_provider_generation"] = story.pick(0, 1, 2)
    story.send("POST", _path("resource_providers", _provider(story), "inventories"), body)


def _delete_inventory(story: Story) -> None:
    parts = ["resource_providers", _provider(story), "inventories"]
    if story.chance(0.7):
        parts.append(story.pick(*CLASSES, "VGPU"))
    story.send("DELETE", _path(*parts))


def _get_inventory(story: Story) -> None:
    story.send(
        "GET",
        _path("resource_providers", _provider(story), "inventories", story.pick(*CLASSES, "x")),
    )


def _put_aggregates(story: Story) -> None:
    provider = story.pick(*PROVIDERS[:4], ABSENT)
    body: Any = story.some(AGGREGATES, 2)
    if story.version >= (1, 19):
        body = {"aggregates": body, "resource_provider_generation": story.generation(provider)}
    story.send("PUT", _path("resource_providers", provider, "aggregates"), body)


def _put_traits(story: Story) -> None:
    provider = story.pick(*PROVIDERS[:4], ABSENT)
    body = {
        "traits": story.some([*TRAITS[:3], SHARING, *story.some(["CUSTOM_NONE"], 1)], 3),
        "resource_provider_generation": story.generation(provider),
    }
    story.send("PUT", _path("resource_providers", provider, "traits"), body)


def _delete_traits(story: Story) -> None:
    story.send("DELETE", _path("resource_providers", _provider(story), "traits"))


def _names(story: Story) -> None:
    """Ask for traits and classes, make them, delete them."""
    if story.chance(0.5):
        name = story.pick(
            *CLASSES, "CUSTOM_NEW", "NEW", "custom_x", "CUSTOM_" + "X" * 248, "CUSTOM_" + "X" * 249
        )
        method = story.pick("GET", "PUT", "DELETE", "POST")
        if method == "POST":
            story.send("POST", "/resource_classes", {"name": name})
        elif method == "PUT" and story.version < (1, 7):
            story.send("PUT", f"/resource_classes/{story.pick(*CLASSES)}", {"name": name})
        else:
            story.send(method, f"/resource_classes/{name}")
        return
    name = story.pick(
        *TRAITS, "CUSTOM_NEW", "NEW", "custom_x", "CUSTOM_" + "X" * 248, "CUSTOM_" + "X" * 249
    )
    story.send(story.pick("GET", "PUT", "DELETE"), f"/traits/{name}")


def _list_names(story: Story) -> None:
    if story.chance(0.2):
        story.send("GET", "/resource_classes")
        return
    query = {}
    if story.chance(0.8):
        query["name"] = story.pick(
            "in:CUSTOM_FAST,HW_CPU_X86_AVX2,NONE",
            "in:",
            "startswith:CUSTOM",
            "startswith:HW_CPU_X86_A",
            "startswith:",
            "CUSTOM",
            "",
            "in:custom_fast",
            "in",
            "in:a:b",
        )
    if story.chance(0.6):
        query["associated"] = story.pick("true", "false", "True", "FALSE", "yes", "")
    story.send("GET", f"/traits?{urlencode(query)}")


def _list_providers(story: Story) -> None:
    query: list[tuple[str, str]] = []
    for _ in range(story.rng.randint(0, 3)):
        name = story.pick("name", "uuid", "member_of", "resources", "in_tree", "required")
        query.append((name, _filter(story, name)))
    story.send("GET", f"/resource_providers?{urlencode(query)}")


def _filter(story: Story, name: str) -> str:
    if name == "name":
        return story.pick("provider-0", "a", "none", "☃", "")
    if name in ("uuid", "in_tree"):
        return story.pick(*PROVIDERS[:4], ABSENT, "x", "")
    if name == "member_of":
        return story.pick(
            AGGREGATES[0],
            f"in:{AGGREGATES[0]},{AGGREGATES[1]}",
            f"!{AGGREGATES[0]}",
            f"!in:{AGGREGATES[0]},{AGGREGATES[2]}",
            f"{AGGREGATES[0]},{AGGREGATES[1]}",
            "in:",
            "",
            "x",
            "!x",
        )
    if name == "required":
        return story.pick(
            "CUSTOM_FAST",
            "!CUSTOM_FAST",
            "HW_CPU_X86_AVX2,!CUSTOM_FAST",
            "in:CUSTOM_FAST,HW_CPU_X86_AVX2",
            "CUSTOM_NONE",
            "",
            "!",
            ",",
            "in:",
            "in:!CUSTOM_FAST",
            "CUSTOM_FAST,!CUSTOM_FAST",
        )
    return story.pick(
        "VCPU:1",
        "VCPU:2,MEMORY_MB:4",
        "VCPU:17",
        "CUSTOM_GOLD:1",
        "CUSTOM_NONE:1",
        "VCPU",
        "VCPU:",
        ":1",
        "VCPU:0",
        "VCPU:-1",
        "VCPU:x",
        "",
        "VCPU:2147483647",
        "VCPU:2147483648",
        "VCPU:1,VCPU:2",
        "VCPU:1:2",
    )


def _resources(story: Story) -> dict[str, int]:
    names = story.rng.sample(CLASSES[:4], story.rng.randint(1, 2))
    return {name: story.pick(1, 1, 2, 4, 17) for name in names}


def allocation(story: Story, consumer: str, version: Version) -> dict[str, Any]:
    """Return the allocations of a consumer as a client of this version sends them."""
    providers = story.rng.sample(PROVIDERS[:3], story.rng.randint(0, 2))
    if story.chance(0.05):
        providers.append(ABSENT)
    if not providers and not story.holds(consumer):  # the reference would leave a consumer behind
        providers.append(PROVIDERS[0])
    allocations: Any = {uuid: {"resources": _resources(story)} for uuid in providers}
    if version < (1, 12):
        allocations = [
            {"resource_provider": {"uuid": uuid}, **item} for uuid, item in allocations.items()
        ]
    body: dict[str, Any] = {"allocations": allocations}
    if version >= (1, 8):
        body |= {"project_id": story.pick("p1", "p1", *PROJECTS), "user_id": story.pick("u1", "u2")}
    if version >= (1, 28):
        body["consumer_generation"] = story.consumer_generation(consumer)
    if version >= (1, 34) and story.chance(0.3):
        body["mappings"] = {"": [PROVIDERS[0]], "_A": PROVIDERS[:2]}
    if version >= (1, 38):
        body["consumer_type"] = story.pick("INSTANCE", "MIGRATION", "unknown", "INSTANCE")
    return body


def _put_allocation(story: Story) -> None:
    consumer = story.rng.choice(CONSUMERS)
    story.send("PUT", f"/allocations/{consumer}", allocation(story, consumer, story.version))


def _post_allocations(story: Story) -> None:
    version = max(story.version, (1, 13))
    consumers = story.rng.sample(CONSUMERS, story.rng.randint(1, 3))
    body = {consumer: allocation(story, consumer, version) for consumer in consumers}
    story.send("POST", "/allocations", body)


def _delete_allocation(story: Story) -> None:
    story.send("DELETE", f"/allocations/{story.pick(*CONSUMERS, ABSENT, 'x')}")


def _get_allocation(story: Story) -> None:
    story.send("GET", f"/allocations/{story.pick(*CONSUMERS, ABSENT, 'x')}")


def _usages(story: Story) -> None:
    query = {}
    if story.chance(0.9):
        query["project_id"] = story.pick("p1", *PROJECTS, "", "none")
    if story.chance(0.4):
        query["user_id"] = story.pick("u1", "u2", "", "none")
    if story.chance(0.4 if story.version >= (1, 38) else 0.1):
        query["consumer_type"] = story.pick("INSTANCE", "unknown", "all", "none", "", "MIGRATION")
    story.send("GET", f"/usages?{urlencode(query)}")


def _reshape(story: Story) -> None:
    version = max(story.version, (1, 30))
    providers = story.rng.sample(PROVIDERS[:4], story.rng.randint(0, 2))
    consumers = story.rng.sample(CONSUMERS, story.rng.randint(0, 2))
    body = {
        "inventories": {
            uuid: {
                "resource_provider_generation": story.generation(uuid),
                "inventories": {name: figures(story) for name in story.some(CLASSES[:4], 4)},
            }
            for uuid in providers
        },
        "allocations": {consumer: allocation(story, consumer, version) for consumer in consumers},
    }
    story.send("POST", "/reshaper", body)


def _odd_method(story: Story) -> None:
    path = story.pick(
        "/",
        "",
        "/resource_providers",
        f"/resource_providers/{PROVIDERS[0]}",
        "/allocations",
        f"/allocations/{CONSUMERS[0]}",
        "/traits",
        "/traits/CUSTOM_FAST",
        "/usages",
        "/reshaper",
        "/nothing",
        "/allocation_candidates",
        "/resource_classes",
        f"/resource_providers/{PROVIDERS[0]}/inventories",
        f"/resource_providers/{PROVIDERS[0]}/traits",
        f"/resource_providers/{PROVIDERS[0]}/usages",
        f"/resource_providers/{PROVIDERS[0]}/allocations",
        "/resource_classes/CUSTOM_GOLD",
        f"/resource_providers/{PROVIDERS[0]}/aggregates",
    )
    story.send(story.pick("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"), path)


def _candidates(story: Story) -> None:
    ask_for_candidates(story)


OPERATIONS: list[Callable[[Story], None]] = [
    _create_provider,
    _create_provider,
    _update_provider,
    _delete_provider,
    _show,
    _show,
    _put_inventories,
    _put_inventories,
    _put_inventory,
    _post_inventory,
    _delete_inventory,
    _get_inventory,
    _put_aggregates,
    _put_traits,
    _delete_traits,
    _names,
    _list_names,
    _list_providers,
    _list_providers,
    _put_allocation,
    _put_allocation,
    _put_allocation,
    _post_allocations,
    _post_allocations,
    _delete_allocation,
    _get_allocation,
    _usages,
    _reshape,
    _reshape,
    _odd_method,
    _candidates,
    _candidates,
]
