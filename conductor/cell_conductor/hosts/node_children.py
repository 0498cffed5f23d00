"""Validation of the child providers that agents report for their hosts."""

from __future__ import annotations

from typing import Any

from oslo_utils import uuidutils

from objects.hosts.compute_node import ComputeNode

CHILDREN_MAX = 1000
"""Maximum for one node; the same limit as in placement."""
TRAITS_MAX = 1000
NAME_LENGTH_MAX = 255

_FIELDS = {"uuid", "name", "parent_uuid", "inventories", "traits"}


def why_malformed(node: ComputeNode) -> str | None:
    """Return why the child providers of a node are invalid, None if they are valid.

    Placement checks whether they form a tree, and the contents of their inventories.
    """
    children = node.child_providers
    if not isinstance(children, list) or len(children) > CHILDREN_MAX:
        return f"child_providers of node {node.node} must be a list of at most {CHILDREN_MAX}"
    for place, child in enumerate(children):
        error = _why_no_child(child)
        if error is not None:
            return f"child_providers[{place}] of node {node.node}: {error}"
    return None


def _why_no_child(child: Any) -> str | None:
    if not isinstance(child, dict) or child.keys() != _FIELDS:
        return f"it must have exactly the fields {', '.join(sorted(_FIELDS))}"
    if not uuidutils.is_uuid_like(child["uuid"]):
        return f"{str(child['uuid'])[:80]!r} is not a UUID"
    name, traits = child["name"], child["traits"]
    if not isinstance(name, str) or len(name) > NAME_LENGTH_MAX:
        return f"a name has at most {NAME_LENGTH_MAX} characters"
    if not isinstance(traits, list) or not all(isinstance(trait, str) for trait in traits):
        return "traits must be a list of names"
    if len(traits) > TRAITS_MAX:
        return f"it has more than {TRAITS_MAX} traits"
    return None if isinstance(child["inventories"], dict) else "inventories must be an object"
