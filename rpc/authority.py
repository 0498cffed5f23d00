"""Authorisation of RPC methods: a declaration names its callers, verified identities are compared.

A method that is not declared cannot be called. The scope of an agent or a cell conductor is in the
trust list, and the argument that must equal it is checked here. Whether an instance is on an
agent's host is checked by the cell conductor that owns the instance.
"""

from rpc.callers import Arguments
from rpc.interface import Interface
from rpc.signing.trust import SCOPED, Identity

BASE_NAMESPACE = "baseapi"
"""Namespace of these methods; declared ones have none."""
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
