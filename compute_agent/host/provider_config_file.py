"""Schema and parser of one provider configuration file."""

import dataclasses
import functools
import logging
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import jsonschema
import os_traits
import yaml

from armillary import exception
from armillary.files import strict_yaml
from objects.hosts.operator_traits import is_of_operators

LOG = logging.getLogger(__name__)

COMPUTE_NODE = "$COMPUTE_NODE"
"""Stands for every compute node of the agent without an entry of its own."""

FILE_BYTES_MAX = 1024 * 1024
"""Maximum size of one provider configuration file."""
PROVIDERS_MAX = 1000
ADDITIONS_MAX = 1000
AMOUNT_MAX = 2**31 - 1
RATIO_MAX = 1000.0
MESSAGE_LENGTH_MAX = 300

_CUSTOM = "^CUSTOM_[A-Z0-9_]{1,248}$"
_UUID = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"


def _object(properties: Mapping[str, Any], *required: str, **more: Any) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
        **more,
    }


def _amount(least: int) -> dict[str, object]:
    return {"type": "integer", "minimum": least, "maximum": AMOUNT_MAX}


_INVENTORY = _object(
    {
        "total": _amount(1),
        "reserved": _amount(0),
        "min_unit": _amount(1),
        "max_unit": _amount(1),
        "step_size": _amount(1),
        "allocation_ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": RATIO_MAX},
    },
    "total",
)
_INVENTORIES = {
    "type": "array",
    "maxItems": ADDITIONS_MAX,
    "items": {
        "type": "object",
        "patternProperties": {_CUSTOM: _INVENTORY},
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": False,
    },
}
_TRAITS = {
    "type": "array",
    "maxItems": ADDITIONS_MAX,
    "uniqueItems": True,
    "items": {"type": "string", "pattern": "^[A-Z0-9_]{1,255}$"},
}
SCHEMA = _object(
    {
        "meta": _object(
            {"schema_version": {"type": "string", "pattern": r"^1\.(0|[1-9][0-9]{0,3})$"}},
            "schema_version",
        ),
        "providers": {
            "type": "array",
            "maxItems": PROVIDERS_MAX,
            "items": _object(
                {
                    "identification": _object(
                        {
                            "uuid": {"type": "string", "pattern": rf"^(\$COMPUTE_NODE|{_UUID})$"},
                            "name": {"type": "string", "minLength": 1, "maxLength": 200},
                        },
                        minProperties=1,
                        maxProperties=1,
                    ),
                    "inventories": _object({"additional": _INVENTORIES}),
                    "traits": _object({"additional": _TRAITS}),
                },
                "identification",
            ),
        },
    },
    "meta",
    "providers",
)
_VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)


Inventories = Mapping[str, Mapping[str, float]]
"""Resource class -> the amounts of its inventory, by field."""


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """The entry for one provider, identified by ``uuid`` (or ``COMPUTE_NODE``) or ``name``."""

    place: str
    """File and position, for messages."""
    uuid: str | None
    name: str | None
    inventories: Inventories
    traits: frozenset[str]


def read(path: Path) -> list[Entry]:
    """Return the non-empty entries of a file. Raises ConfigurationError with the position."""
    content = _parse(path)
    broken = jsonschema.exceptions.best_match(_VALIDATOR.iter_errors(content))
    if broken is not None:
        raise _mistake(path, broken.json_path, broken.message)
    return list(_entries(path, content))


def _entries(path: Path, content: Any) -> Iterator[Entry]:
    for index, provider in enumerate(content["providers"]):
        place = f"$.providers[{index}]"
        named = provider["identification"]
        entry = Entry(
            place=f"{path}: {place}",
            uuid=_uuid(named),
            name=None if named.get("name") == COMPUTE_NODE else named.get("name"),
            inventories=_inventories(path, place, provider),
            traits=_traits(path, place, provider),
        )
        if entry.inventories or entry.traits:
            yield entry
        else:
            LOG.info("%s contains no inventories and no traits; it is ignored", entry.place)


def _uuid(named: Mapping[str, str]) -> str | None:
    """Return the UUID in canonical form; either field may hold ``$COMPUTE_NODE``."""
    if named.get("name") == COMPUTE_NODE or named.get("uuid") == COMPUTE_NODE:
        return COMPUTE_NODE
    return named["uuid"].lower() if "uuid" in named else None


def _traits(path: Path, place: str, provider: Mapping[str, Any]) -> frozenset[str]:
    found = provider.get("traits", {}).get("additional", ())
    for index, name in enumerate(found):
        where = f"{place}.traits.additional[{index}]"
        if name == os_traits.COMPUTE_STATUS_DISABLED:
            raise _mistake(path, where, f"{name} follows the service: disable that instead")
        if is_of_operators(name):
            raise _mistake(path, where, f"{name} is not reported by hosts: set it in placement")
        if re.match(_CUSTOM, name) is None and name not in _standard_traits():
            raise _mistake(path, where, f"no trait {name} exists; your own begin with CUSTOM_")
    return frozenset(found)


@functools.cache
def _standard_traits() -> frozenset[str]:
    return frozenset(os_traits.get_traits())


def _inventories(path: Path, place: str, provider: Mapping[str, Any]) -> Inventories:
    found: dict[str, dict[str, float]] = {}
    for index, item in enumerate(provider.get("inventories", {}).get("additional", ())):
        where = f"{place}.inventories.additional[{index}]"
        ((name, given),) = item.items()
        if name in found:
            raise _mistake(path, where, f"{name} occurs twice")
        found[name] = _inventory(path, f"{where}.{name}", given)
    return found


def _inventory(path: Path, where: str, given: Mapping[str, float]) -> dict[str, float]:
    ratio = float(given.get("allocation_ratio", 1.0))
    if math.isnan(ratio):  # the schema's bounds do not exclude NaN
        raise _mistake(path, where, "allocation_ratio is not a number")
    defaults = {"reserved": 0, "min_unit": 1, "max_unit": given["total"], "step_size": 1}
    whole = {**defaults, **given}
    inventory = {name: int(whole[name]) for name in ("total", *defaults)}  # 8.0 is allowed
    if inventory["reserved"] > inventory["total"]:
        raise _mistake(path, where, "reserved is greater than total")
    if inventory["min_unit"] > inventory["max_unit"]:
        raise _mistake(path, where, "min_unit is greater than max_unit")
    return {**inventory, "allocation_ratio": ratio}


def _parse(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    except OSError as error:
        raise _mistake(path, "the file", f"it cannot be read: {error.strerror}") from error
    if len(text) > FILE_BYTES_MAX:
        raise _mistake(path, "the file", f"it is larger than {FILE_BYTES_MAX} bytes")
    try:
        return strict_yaml.load(text.decode("utf-8"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _mistake(path, "the file", " ".join(str(error).split())) from error


def _mistake(path: Path, where: str, what: str) -> exception.ConfigurationError:
    return exception.ConfigurationError(
        reason=f"{path}: {where}: {what[:MESSAGE_LENGTH_MAX]} "
        "(see docs/operating/provider-configuration.md)"
    )
