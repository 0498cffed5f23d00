"""Callers that an RPC declaration can name: roles and, where they have one, their scope."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from rpc.signing.trust import Identity

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
