"""Query parameter values shared by several nouns: amounts, traits, aggregates, a tree.

Their syntax depends on the microversion. Every error has status 400 and names the parameter, but no
public code: only what 1.36 made possible has codes of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from armillary.http.microversion import Version
from placement.providers import names
from placement.rest import errors

_AMOUNT = re.compile(r"-?[0-9]{1,30}")
ANY_OF = "in:"
"""Prefix of a list of which one name suffices."""
_SHOWN_CHARACTERS_MAX = 200
_FORBIDDEN_TRAITS_SINCE = (1, 22)
_MANY_AGGREGATES_SINCE = (1, 24)
_FORBIDDEN_AGGREGATES_SINCE = (1, 32)
_ANY_TRAITS_SINCE = (1, 39)


@dataclass(frozen=True, slots=True)
class Constraints:
    """Names of which each inner list requires one, and forbidden names."""

    required: list[list[str]] = field(default_factory=list)
    forbidden: list[str] = field(default_factory=list)


def items(value: str) -> list[str]:
    """Return the comma-separated items, without surrounding spaces."""
    return [item.strip() for item in value.split(",")]


def parse_resources(text: str) -> dict[str, int]:
    """Parse ``VCPU:2,MEMORY_MB:1024``; whether the classes exist is not checked.

    If a class is repeated, its last amount applies. Names may not be surrounded by spaces.
    """
    if not text:
        raise _bad_resources("empty string.")
    amounts = {}
    for item in text.split(","):
        name, colon, amount = item.partition(":")
        if not name or not colon or ":" in amount:
            raise _bad_resources(f"{_shown(item)}.")
        amounts[name] = _amount(name, amount.strip())
    return amounts


def parse_traits(name: str, values: Sequence[str], version: Version) -> Constraints:
    """Return the traits of ``required``; before 1.39 only the last of several values applies."""
    if version < _ANY_TRAITS_SINCE:
        if values[-1].startswith(ANY_OF):
            raise _bad(
                "Invalid query string parameters: "
                "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since "
                f"microversion 1.39. Got: {_shown(values[-1])}"
            )
        values = values[-1:]
    wanted = Constraints()
    for value in values:
        _add_traits(wanted, name, value, version)
    return wanted


def conflicting_traits(wanted: Constraints) -> list[str]:
    """Return the traits that are both required and forbidden."""
    forbidden = set(wanted.forbidden)
    return sorted(
        {trait for any_of in wanted.required if set(any_of) <= forbidden for trait in any_of}
    )


def parse_aggregates(name: str, values: Sequence[str], version: Version) -> Constraints:
    """Return the aggregates of ``member_of``."""
    if len(values) > 1 and version < _MANY_AGGREGATES_SINCE:
        raise _bad(f"Multiple {name} parameters are not supported")
    wanted = Constraints()
    for value in values:
        is_forbidden = value.startswith("!")
        if is_forbidden and version < _FORBIDDEN_AGGREGATES_SINCE:
            raise _bad(
                f"Forbidden {name} parameters are not supported in the specified microversion"
            )
        uuids = _aggregates(name, value.removeprefix("!"))
        if is_forbidden:
            wanted.forbidden.extend(uuids)
        else:
            wanted.required.append(uuids)
    return wanted


def parse_in_tree(name: str, value: str) -> str:
    """Return the UUID of a provider."""
    uuid = names.to_uuid(value.strip())
    if uuid is None:
        raise _bad(f"Expected '{name}' parameter to be a format of uuid. Got: {_shown(value)}")
    return uuid


def _amount(name: str, text: str) -> int:
    if not _AMOUNT.fullmatch(text):
        raise _bad(
            f"Requested resource {_shown(name)} expected positive integer amount. "
            f"Got: {_shown(text)}."
        )
    amount = int(text)
    if amount < 1:
        raise _bad(f"Requested resource {_shown(name)} requires amount >= 1. Got: {amount}.")
    return amount


def _add_traits(wanted: Constraints, name: str, value: str, version: Version) -> None:
    traits = items(value.removeprefix(ANY_OF))
    if value.startswith(ANY_OF):
        if not all(trait and not trait.startswith("!") for trait in traits):
            raise _bad_traits(name, value, version)
        wanted.required.append(traits)
        return
    for trait in traits:
        is_forbidden, bare = trait.startswith("!"), trait.removeprefix("!")
        if not bare or (is_forbidden and version < _FORBIDDEN_TRAITS_SINCE):
            raise _bad_traits(name, value, version)
        if is_forbidden:
            wanted.forbidden.append(bare)
        else:
            wanted.required.append([bare])


def _aggregates(name: str, value: str) -> list[str]:
    texts = value.removeprefix(ANY_OF).split(",")
    if len(texts) > 1 and not value.startswith(ANY_OF):
        raise _bad(
            f"Multiple values for '{name}' must be prefixed with the 'in:' or '!in:' keyword "
            f"using the valid microversion. Got: {_shown(value)}"
        )
    uuids = [uuid for text in texts if (uuid := names.to_uuid(text)) is not None]
    if len(uuids) != len(texts):
        raise _bad(
            f"Invalid query string parameters: Expected '{name}' parameter to contain "
            f"valid UUID(s). Got: {_shown(value)}"
        )
    return uuids


def _bad_resources(got: str) -> Exception:
    return _bad(
        "Badly formed resources parameter. Expected resources query string parameter in form: "
        f"?resources=VCPU:2,MEMORY_MB:1024. Got: {got}"
    )


def _bad_traits(name: str, value: str, version: Version) -> Exception:
    sign = "!" if version >= _FORBIDDEN_TRAITS_SINCE else ""
    more = " Or: in:HW_CPU_X86_VMX,CUSTOM_MAGIC." if version >= _ANY_TRAITS_SINCE else ""
    return _bad(
        f"Invalid query string parameters: Expected '{name}' parameter value of the form: "
        f"HW_CPU_X86_VMX,{sign}CUSTOM_MAGIC.{more} Got: {_shown(value)}"
    )


def _bad(detail: str) -> Exception:
    return errors.bad_request(detail)


def _shown(text: str) -> str:
    shown = text[:_SHOWN_CHARACTERS_MAX]
    return shown if len(shown) == len(text) else f"{shown}..."
