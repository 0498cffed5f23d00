"""Enrolment: changes of a trust list by an operator, who adds, rotates and revokes keys."""

import dataclasses
from pathlib import Path

from armillary import exception
from armillary.files import private_files
from armillary.names import host_patterns
from rpc.signing import trust
from rpc.signing.keys import PublicKey, SigningKey
from rpc.signing.trust import Identity, TrustedKey, TrustList


def read(path: Path, kind: str, root: SigningKey) -> TrustList:
    """Return the list in a file, or an empty one if the file does not exist.

    Raises Invalid unless it is a list of this kind signed by this root key.
    """
    try:
        document = path.read_text()
    except FileNotFoundError:
        return TrustList(kind, 0, [])
    except (OSError, UnicodeDecodeError) as error:
        raise exception.Invalid(reason=f"the trust list {path} cannot be read") from error
    found = trust.verified(document, [root.public])
    if found.kind != kind:
        raise exception.Invalid(reason=f"{path} is the list of {found.kind}, not of {kind}")
    return found


def write(path: Path, changed: TrustList, root: SigningKey) -> None:
    """Replace the file, which has no secrets. Raises ConfigurationError if it cannot be written."""
    try:
        with private_files.replacing(path, mode=private_files.PUBLIC_MODE) as file:
            file.write(trust.signed_document(changed, root).encode())
    except OSError as error:
        raise exception.ConfigurationError(
            reason=f"the trust list {path} cannot be written: {error.strerror}"
        ) from error


def trusted(current: TrustList, identity: Identity) -> TrustList:
    """Return the list with a new identity.

    Raises Exists for a known name or key, Invalid for a scope that is missing or superfluous for
    the role, for hosts of another role than an agent's or a cell conductor's, and for a cell's
    patterns of which another cell has one that fits the same names.
    """
    if identity.name in current.identities:
        raise exception.Exists(
            what=f"The identity {identity.name} (another key of it: armillary-manage key rotate)"
        )
    if identity.role in trust.SCOPED and not identity.scope:
        raise exception.Invalid(
            reason=f"the role {identity.role} needs a scope: {trust.SCOPED[identity.role]}"
        )
    if identity.role not in trust.SCOPED and identity.scope:
        raise exception.Invalid(reason=f"the role {identity.role} has no scope")
    _check_hosts(identity.role, identity.hosts)
    for key in identity.keys:
        _refuse_known(current, key.public)
    _refuse_shared_hosts(current, identity)
    return current.changed({identity.name: identity})


def with_hosts(current: TrustList, name: str, hosts: tuple[str, ...]) -> TrustList:
    """Return the list with other patterns of hosts for an identity.

    Raises NotFound, and Invalid for a role that has no hosts, or for names that another cell has.
    """
    identity = dataclasses.replace(_known(current, name), hosts=hosts)
    _check_hosts(identity.role, hosts)
    _refuse_shared_hosts(current, identity)
    return current.changed({name: identity})


def rotated(
    current: TrustList, name: str, successor: PublicKey, *, now: float, overlap_seconds: float
) -> TrustList:
    """Return the list with a new key for an identity; its other keys expire after the overlap.

    Raises NotFound, and Exists if an identity has that key.
    """
    identity = _known(current, name)
    _refuse_known(current, successor)
    end = now + overlap_seconds
    ending = [
        dataclasses.replace(key, not_after=min(end, key.not_after or end))
        for key in identity.keys
        if key.is_good(now)
    ]
    keys = (*ending, TrustedKey(successor))
    return current.changed({name: dataclasses.replace(identity, keys=keys)})


def revoked(current: TrustList, name: str, key_id: str | None) -> TrustList:
    """Return the list without an identity, or without one of its keys. Raises NotFound."""
    identity = _known(current, name)
    if key_id is None:
        return current.changed({name: None})
    left = tuple(key for key in identity.keys if key.public.key_id != key_id)
    if len(left) == len(identity.keys):
        raise exception.NotFound(what=f"The key {key_id} of {name}")
    return current.changed({name: dataclasses.replace(identity, keys=left)})


def _check_hosts(role: str, hosts: tuple[str, ...]) -> None:
    if hosts and role not in trust.HAVE_HOSTS:
        raise exception.Invalid(reason=f"the role {role} has no hosts")


def _refuse_shared_hosts(current: TrustList, identity: Identity) -> None:
    """Raise Invalid if two cells are enrolled for the same names: neither would get such a host."""
    if identity.role != trust.CELL_CONDUCTOR:
        return
    for other in current.identities.values():
        if other.role != identity.role or other.scope == identity.scope:
            continue
        found = host_patterns.common(identity.hosts, other.hosts)
        if found is not None:
            raise exception.Invalid(
                reason=f"{found[0]} and {found[1]}, which {other.name} is enrolled for, fit the "
                "same names, and no host may be that of two cells; limit one of them (armillary-"
                "manage key hosts)"
            )


def _known(current: TrustList, name: str) -> Identity:
    try:
        return current.identities[name]
    except KeyError:
        raise exception.NotFound(
            what=f"The identity {name} on the trust list of {current.kind}"
        ) from None


def _refuse_known(current: TrustList, key: PublicKey) -> None:
    owner = current.owner_of(key.key_id)
    if owner is not None:
        raise exception.Exists(what=f"The key {key.key_id}, of {owner[0].name},")
