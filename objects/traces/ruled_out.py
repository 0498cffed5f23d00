"""Text for ruled out hosts or providers: clauses of one sentence that add up to the total."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import os_traits

Part = tuple[int, str, str]
"""Number that fail, and the clause in the singular and in the plural."""

_LACKS = "lacks "
_PARTS_MAX = 6
_UNITS = {
    "VCPU": ("vCPU", "vCPUs"),
    "PCPU": ("dedicated CPU", "dedicated CPUs"),
    "MEMORY_MB": ("MiB of memory", "MiB of memory"),
    "DISK_GB": ("GiB of disk", "GiB of disk"),
}
"""Resource class -> its unit in the singular and in the plural."""
_LIMITS = {
    "min_unit": "at least {:,}",
    "max_unit": "at most {:,}",
    "step_size": "multiples of {:,}",
}
"""Rule for amounts -> what it allows."""
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def parts_of(ruled_out: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> Iterator[Part]:
    """Yield the parts of ``DecisionTrace.ruled_out``; ``names`` maps aggregates' UUIDs to names."""
    for rule in ruled_out:
        yield rule["count"], *rule_text(rule, names)


def joined(parts: Iterable[Part], total: int, noun: str) -> str:
    """Return a clause for each part with a count above 0; empty if there is none."""
    counted = _bounded([part for part in parts if part[0]])
    return "; ".join(_phrases(counted, total, noun))


def named(text: str, names: Mapping[str, str]) -> str:
    """Replace UUIDs of aggregates in a text by their names."""
    return _UUID.sub(lambda match: names.get(match[0], match[0]), text)


def lacks_text(lacks: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> str:
    """Return what the nearest host lacks, such as ``lacks 2 vCPUs and CUSTOM_A and is disabled``.

    The entries are those of ``AllocationCandidates.lacks``.
    """
    phrases = [_lack_text(lack, names) for lack in lacks]
    phrases.sort(key=lambda phrase: not phrase.startswith(_LACKS))
    return " and ".join(
        phrase.removeprefix(_LACKS) if index and phrase.startswith(_LACKS) else phrase
        for index, phrase in enumerate(phrases)
    )


def _lack_text(lack: Mapping[str, Any], names: Mapping[str, str]) -> str:
    if lack.get("short"):
        return f"{_LACKS}{amount_text(lack['name'], lack['short'])}"
    return rule_text({**lack, "best": lack.get("free")}, names)[0]


def amount_text(resource_class: str, amount: int) -> str:
    """Return an amount of a resource class with its unit, such as ``2,048 MiB of memory``."""
    one, many = _UNITS.get(resource_class, (resource_class, resource_class))
    return f"{amount:,} {one if amount == 1 else many}"


def rule_text(rule: Mapping[str, Any], names: Mapping[str, str]) -> tuple[str, str]:
    """Return what hosts fail that a rule ruled out, in the singular and in the plural."""
    name = named(str(rule["name"]), names)
    match rule["kind"]:
        case "resource" if "rule" in rule:
            limit = _LIMITS[rule["rule"]].format(rule["best"])
            detail = f"{limit} {name} to one request ({rule['rule']}): {rule['asked']:,} asked"
            return f"gives {detail}", f"give {detail}"
        case "resource":
            detail = f"{name}: {rule['asked']:,} asked, {max(rule['best'], 0):,} free at most"
            return f"lacks {detail}", f"lack {detail}"
        case "trait":
            return f"lacks {name}", f"lack {name}"
        case "member_of":
            return f"is not in aggregate {name}", f"are not in aggregate {name}"
        case "forbidden_aggregate":
            detail = f"in aggregate {name}, which is forbidden"
            return f"is {detail}", f"are {detail}"
        case "in_tree":
            return f"is not in the tree of {name}", f"are not in the tree of {name}"
        case "forbidden_trait" if name != os_traits.COMPUTE_STATUS_DISABLED:
            return f"has {name}, which is forbidden", f"have {name}, which is forbidden"
        case "forbidden_resource":
            detail = f"{name}, but too little of it or not as requested"
            return f"offers {detail}", f"offer {detail}"
        case "forbidden_trait" | "disabled":
            return "is disabled", "are disabled"
        case "combination" | "group_policy":
            detail = f"each part of the request, but not all together ({name})"
            return f"fits {detail}", f"fit {detail}"
        case "pinned_cpus":
            detail = f"neither with dedicated CPUs nor with pinned shared ones ({name})"
            return f"fits {detail}", f"fit {detail}"
        case "request_filter":
            return f"was not asked for: {name}", f"were not asked for: {name}"
        case _:
            return f"is ruled out by {name}", f"are ruled out by {name}"


def _bounded(parts: list[Part]) -> list[Part]:
    if len(parts) <= _PARTS_MAX:
        return parts
    rest = sum(count for count, _one, _many in parts[_PARTS_MAX - 1 :])
    return [*parts[: _PARTS_MAX - 1], (rest, "fails for other reasons", "fail for other reasons")]


def _phrases(parts: Sequence[Part], total: int, noun: str) -> Iterator[str]:
    last = len(parts) - 1
    adds_up = sum(count for count, _one, _many in parts) == total
    for index, (count, one, many) in enumerate(parts):
        text = one if count == 1 else many
        if index == 0 == last and adds_up:
            yield f"the only {noun} {text}" if count == 1 else f"all {count:,} {noun}s {text}"
        elif index == 0:
            yield f"{count:,} of {total:,} {noun}s {text}"
        elif index == last and adds_up:
            yield f"the other one {text}" if count == 1 else f"the other {count:,} {text}"
        else:
            yield f"{count:,} {text}"
