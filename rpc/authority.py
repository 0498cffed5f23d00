"""Authorisation of RPC methods: a declaration names its callers, verified identities are compared.

A method that is not declared cannot be called. The scope of an agent or a cell conductor is in the
trust list, and the argument that must equal it is checked here. Whether an instance is on an
agent's host is checked by the cell conductor that owns the instance.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rpc.signing.trust import SCOPED, Identity

if TYPE_CHECKING:
    from rpc.interface import Interface

Arguments = Mapping[str, Any]

_OBJECT_DATA = "armillary_object.data"


@dataclasses.dataclass(frozen=True)
class Caller:
    """A role that may call a method and, for roles with a scope, where the message names it.

    The scope must equal ``argument`` or, if that is an object, its field ``field``.
    """

    role: str
    argument: str | None = None
    field: str | None = None
    is_local: bool = False
    """Whether the scope must be that of the broker over which the message came."""

    def is_in_scope(
        self, identity: Identity, arguments: Arguments, received_for: str | None
    ) -> bool:
        """Return whether a message, in wire form, is about the sender's own scope.

        ``received_for`` is the cell or zone of the broker over which it came.
        """
        if self.is_local and (identity.scope is None or identity.scope != received_for):
            return False
        if self.argument is None:
            return True
        return identity.scope is not None and self._scope_in(arguments) == identity.scope

    def _scope_in(self, arguments: Arguments) -> Any:
        value = arguments.get(self.argument or "")
        if self.field is None:
            return value
        data = value.get(_OBJECT_DATA) if isinstance(value, Mapping) else None
        return data.get(self.field) if isinstance(data, Mapping) else None


API = Caller("api")
AGENT = Caller("compute")
AGENT_ITSELF = Caller("compute", "agent")
CELL = Caller("cell_conductor")
CELL_HERE = Caller("cell_conductor", is_local=True)
CELL_ITSELF = Caller("cell_conductor", "cell_uuid")
CELL_OF_BATCH = Caller("cell_conductor", "batch", "cell_uuid")
CONDUCTOR = Caller("conductor")
OPERATOR = Caller("operator")
PARENT_ZONE = Caller("parent_zone")
PLACEMENT = Caller("placement")
SCHEDULER = Caller("scheduler")
ZONE_OF_SUMMARY = Caller("child_zone", "summary", "zone")

BASE_METHODS = frozenset({"ping", "update_trust"})
"""Methods of every server, for all trusted callers; a root key signs each trust list."""


def refusal_reason(
    identity: Identity,
    interface: type[Interface],
    namespace: str | None,
    method: str,
    arguments: Arguments,
    *,
    received_for: str | None = None,
) -> str | None:
    """Return why this identity may not make this call, None if it may.

    ``received_for`` is the cell or zone of the broker over which it came.
    """
    if namespace is not None:
        return None if method in BASE_METHODS else f"no role may call {method}"
    declared = interface.METHODS.get(method)
    callers = () if declared is None else declared.callers
    fitting = [one for one in callers if one.role == identity.role]
    if not fitting:
        return f"the role {identity.role} may not call {method} on {interface.TOPIC}"
    if all(one.is_in_scope(identity, arguments, received_for) for one in fitting):
        return None
    return f"{identity.name} has the scope {identity.scope!s:.80}; {method} is about another one"


def may_answer(
    interface: type[Interface],
    identity: Identity,
    server: str | None,
    *,
    asked_at: str | None = None,
) -> bool:
    """Return whether this identity serves the interface, and under this server name.

    A role with a scope answers for it only: for the server asked or, if any server may answer, for
    ``asked_at``, the cell or zone of the broker.
    """
    if identity.role != interface.SERVED_BY:
        return False
    if identity.role not in SCOPED:
        return True
    return identity.scope == (asked_at if interface.ADDRESSED_BY is None else server)
