"""What flavors ask for with ``accel:device_profile``: accelerators, as operators describe them.

A profile has groups; each is served by one provider, and says what it has to have as extra specs of
flavors do: ``resources:FPGA`` = 1, ``trait:CUSTOM_FPGA_FAST`` = ``required``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from armillary import exception
from objects import extra_specs

Group = Mapping[str, str]
"""Key and value, the key without a suffix."""

GROUPS_MAX = 64

_FOR_OTHERS = "accel:"
"""Keys of this scope are for whoever prepares the accelerator."""


def parse(texts: Iterable[str]) -> dict[str, Sequence[Group]]:
    """Return the groups of the profiles of ``[accelerators] device_profile``, by name.

    Each text is a JSON object of ``name`` and ``groups``, a list of objects. Raises
    ``ConfigurationError`` that quotes the text.
    """
    profiles: dict[str, Sequence[Group]] = {}
    for text in texts:
        name, groups = _read(text)
        if name in profiles:
            raise _wrong(text, f"there is another profile {name}")
        profiles[name] = [_group(group, text) for group in groups]
    return profiles


def as_extra_specs(groups: Sequence[Group]) -> dict[str, str]:
    """Return extra specs that ask for all groups, each with a suffix of its own."""
    found = {}
    for number, group in enumerate(groups):
        for key, value in group.items():
            scope, _colon, name = key.partition(":")
            found[f"{scope}_device_profile_{number}:{name}"] = value
    return found


def _read(text: str) -> tuple[str, list[Any]]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(text, f"it is no JSON ({error})") from error
    if not isinstance(found, dict) or found.keys() != {"name", "groups"}:
        raise _wrong(text, "it is no JSON object of name and groups")
    name, groups = found["name"], found["groups"]
    if not isinstance(name, str) or not name.strip():
        raise _wrong(text, "name is a text")
    if not isinstance(groups, list) or not 1 <= len(groups) <= GROUPS_MAX:
        raise _wrong(text, f"groups is a list of 1 to {GROUPS_MAX} objects")
    return name, groups


def _group(group: Any, text: str) -> Group:
    if not isinstance(group, dict):
        raise _wrong(text, "a group is an object of extra specs")
    asked = {key: str(value) for key, value in group.items() if not key.startswith(_FOR_OTHERS)}
    for key, value in asked.items():
        scope_suffix_name = extra_specs.group_key(key)
        if scope_suffix_name is None or scope_suffix_name[1]:
            raise _wrong(text, f"{key[:80]} is neither resources:CLASS nor trait:TRAIT")
        if (why := extra_specs.mistake(key, value)) is not None:
            raise _wrong(text, f"{key[:80]} = {value[:80]}: {why}")
    if not any(key.startswith("resources:") for key in asked):
        raise _wrong(text, "a group asks for no resources")
    return asked


def _wrong(text: str, why: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"[accelerators] device_profile '{text[:200]}': {why}"
    )
