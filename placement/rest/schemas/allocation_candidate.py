"""Query parameters of allocation candidates, by version."""

from collections.abc import Iterable

from armillary.http.validation import Schema

_TEXT = {"type": "string"}
_LIMIT = {"type": "string", "pattern": "^[1-9][0-9]*$", "minLength": 1}
_GROUP_POLICY = {"type": "string", "enum": ["none", "isolate"]}

_NUMBER = "([1-9][0-9]*)?"
_SUFFIX = "([a-zA-Z0-9_-]{1,64})?"
_OF_GROUPS = ("resources", "required", "member_of")


def _plain(**more: Schema) -> Schema:
    """Return the schema of one group."""
    return {
        "type": "object",
        "properties": {"resources": _TEXT, **more},
        "required": ["resources"],
        "additionalProperties": False,
    }


def _granular(suffix: str, of_groups: Iterable[str], **more: Schema) -> Schema:
    """Return the schema of several groups, each with its own suffix."""
    return {
        "type": "object",
        "properties": {"limit": _LIMIT, "group_policy": _GROUP_POLICY, **more},
        "patternProperties": {f"^{name}{suffix}$": _TEXT for name in of_groups},
        "additionalProperties": False,
    }


LIST_QUERY = {
    (1, 10): _plain(),
    (1, 16): _plain(limit=_LIMIT),
    (1, 17): _plain(limit=_LIMIT, required=_TEXT),
    (1, 21): _plain(limit=_LIMIT, required=_TEXT, member_of=_TEXT),
    (1, 25): _granular(_NUMBER, _OF_GROUPS),
    (1, 31): _granular(_NUMBER, (*_OF_GROUPS, "in_tree")),
    (1, 33): _granular(_SUFFIX, (*_OF_GROUPS, "in_tree")),
    (1, 35): _granular(_SUFFIX, (*_OF_GROUPS, "in_tree"), root_required=_TEXT),
    (1, 36): _granular(_SUFFIX, (*_OF_GROUPS, "in_tree"), root_required=_TEXT, same_subtree=_TEXT),
}
"""The schema from each microversion on."""
