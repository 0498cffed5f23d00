"""Host names replaced in what a zone tells its parents, with ``[zones] hide_host_names``.

A host is named by the UUID of its compute node, which parents know from the zone's offers. In
texts, only names that stand alone are replaced, as hosts may be called like parts of words. The
addresses of hosts are left out, and so are all addresses in texts.
"""

import ipaddress
import json
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

from armillary import exception
from armillary.db import Database
from conductor.super_conductor.db import host_mappings
from rpc.wire.serializer import ObjectSerializer

T = TypeVar("T")

HIDDEN = "hidden"
"""Name of a host whose node is not known, and address of any host."""

_NAMES = frozenset(
    {
        "host", "node", "source_host", "source_node", "dest_host", "dest_node",
        "hypervisor_hostname", "hosts", "alternates",
    }
)  # fmt: skip
"""Fields that have nothing but names of hosts or nodes, or the number of hosts."""

_ADDRESS = "host_ip"
"""The field that has a host's address."""

_TEXTS = frozenset({"message", "details", "reason", "sentence", "notes", "old_states"})
"""Fields with sentences, which may name hosts."""

_OF_USERS = frozenset({"metadata", "hints", "scheduler_hints", "extra_specs", "properties"})
"""Fields with users' own keys and values, which are left as they are."""

_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*[A-Za-z0-9_]|[A-Za-z0-9_]")
_MAY_BE_ADDRESS = re.compile(r"\d+(?:\.\d+){3}|[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f.]*")
_SERIALIZER = ObjectSerializer()


class HiddenHosts:
    """Replaces names of this zone's hosts, if that is wanted."""

    def __init__(self, database: Database, *, is_on: bool) -> None:
        self._database = database
        self.is_on = is_on

    def in_answer(self, answer: T) -> T:
        """Return objects and plain values without names of hosts."""
        if not self.is_on:
            return answer
        plain = json.loads(json.dumps(_SERIALIZER.serialize_entity(None, answer)))
        names = self._known(_candidates(plain))
        hidden: T = _SERIALIZER.rebuild(None, _hidden(plain, None, names))
        return hidden

    def in_text(self, text: str) -> str:
        """Return a sentence without names of hosts."""
        if not self.is_on:
            return text
        return _hidden_text(text, self._known(_words(text)))

    def in_error(self, error: exception.ArmillaryError) -> exception.ArmillaryError:
        """Return an error of the same class whose message and facts name no host."""
        if not self.is_on:
            return error
        facts: dict[str, Any] = self.in_answer({"details": error.kwargs, "message": error.message})
        return type(error)(self.in_text(error.message), **facts["details"])

    def _known(self, words: Collection[str]) -> dict[str, str]:
        """Return those of these words that are hosts, each with the UUID of its node."""
        found = self._database.read(host_mappings.nodes_by_host, words)
        return {
            host: nodes[0] if nodes else HIDDEN
            for host, nodes in found.items()
            if nodes is not None
        }


def _candidates(value: Any, field: str | None = None) -> set[str]:
    """Return all words of fields that may name hosts."""
    if isinstance(value, Mapping):
        return set().union(
            *(
                _candidates(each, _inner(key, field))
                for key, each in value.items()
                if key not in _OF_USERS
            )
        )
    if isinstance(value, list):
        return set().union(*(_candidates(each, field) for each in value))
    if isinstance(value, str) and (field in _NAMES or field in _TEXTS):
        return _words(value)
    return set()


def _hidden(value: Any, field: str | None, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {
            key: each if key in _OF_USERS else _hidden(each, _inner(key, field), names)
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [_hidden(each, field, names) for each in value]
    if not isinstance(value, str):
        return value
    if field == _ADDRESS:
        return None
    if field in _NAMES:
        return _name_of(value, names) or (HIDDEN if value else value)
    return _hidden_text(value, names) if field in _TEXTS else value


def _inner(key: str, field: str | None) -> str | None:
    """Return the field that a key stands for; facts of an error count as text."""
    return "details" if field == "details" and key not in _NAMES else key


def _hidden_text(text: str, names: Mapping[str, str]) -> str:
    named = _WORD.sub(lambda found: _name_of(found[0], names) or found[0], text)
    return _MAY_BE_ADDRESS.sub(lambda found: HIDDEN if _is_address(found[0]) else found[0], named)


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _words(text: str) -> set[str]:
    """Return the words of a text, and what remains of each without its last labels."""
    return {part for word in _WORD.findall(text) for part in _without_domains(word)}


def _without_domains(word: str) -> list[str]:
    labels = word.split(".")
    return [".".join(labels[:count]) for count in range(len(labels), 0, -1)]


def _name_of(word: str, names: Mapping[str, str]) -> str | None:
    return next((names[part] for part in _without_domains(word) if part in names), None)
