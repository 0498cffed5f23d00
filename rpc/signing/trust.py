"""Trust lists: identities with their keys, signed by a root key."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from armillary import exception
from armillary.context import Signer
from rpc.signing.keys import PublicKey, SigningKey

ROLES = (
    "api",
    "cell_conductor",
    "child_zone",
    "compute",
    "conductor",
    "operator",
    "parent_zone",
    "placement",
    "scheduler",
)
AGENTS, SERVICES = "agents", "services"
"""The two lists; the agents' is long, and only conductors need it."""

CELL_CONDUCTOR = "cell_conductor"
SCOPED = {
    "compute": "the agent's host name",
    CELL_CONDUCTOR: "the UUID of its cell",
    "child_zone": "the name of the zone",
    "parent_zone": "the name of the zone",
}
"""Role -> meaning of its scope, for roles that act for a part of the deployment only."""

HAVE_HOSTS = frozenset({"compute", CELL_CONDUCTOR})
"""Roles that may be enrolled for patterns of hosts."""

_FORMAT = 1
_LIST_BYTES_MAX = 16 * 1024 * 1024


@dataclasses.dataclass(frozen=True)
class TrustedKey:
    """A key of an identity. Without an expiry it is valid until revoked."""

    public: PublicKey
    not_after: float | None = None
    """Expiry in seconds since 1970; a rotated key expires after an overlap with its successor."""

    def is_good(self, now: float) -> bool:
        """Return whether messages signed with this key may be accepted."""
        return self.not_after is None or now < self.not_after


@dataclasses.dataclass(frozen=True)
class Identity:
    """A process, or several that share a key: its role and its scope."""

    name: str
    role: str
    scope: str | None = None
    """For ``compute`` its host name, for ``cell_conductor`` the UUID of its cell."""
    keys: tuple[TrustedKey, ...] = ()
    hosts: tuple[str, ...] = ()
    """For ``compute`` patterns of further hosts that it may have, for ``cell_conductor`` of all."""

    def as_signer(self) -> Signer:
        """Return what handlers learn of the sender of a message."""
        return Signer(self.name, self.role, self.scope, self.hosts)


class TrustList:
    """An immutable version of a trust list; ``root_id`` is the id of the key that signed it."""

    def __init__(
        self, kind: str, serial: int, identities: Iterable[Identity], *, root_id: str = ""
    ) -> None:
        self.kind = kind
        self.serial = serial
        self.root_id = root_id
        self.identities = {identity.name: identity for identity in identities}
        self._owners = {
            key.public.key_id: (identity, key)
            for identity in self.identities.values()
            for key in identity.keys
        }

    def owner_of(self, key_id: str) -> tuple[Identity, TrustedKey] | None:
        """Return the owner of a key; None if it is unknown or revoked."""
        return self._owners.get(key_id)

    def changed(self, identities: Mapping[str, Identity | None]) -> TrustList:
        """Return the next version: identities added or replaced, or removed if None."""
        kept = {**self.identities, **identities}
        return TrustList(
            self.kind, self.serial + 1, [identity for identity in kept.values() if identity]
        )


def signed_document(trust: TrustList, root: SigningKey) -> str:
    """Return the list as a document signed by the root key."""
    text = json.dumps(
        {
            "format": _FORMAT,
            "kind": trust.kind,
            "serial": trust.serial,
            "identities": [_as_plain(identity) for identity in trust.identities.values()],
        },
        sort_keys=True,
    )
    signature = base64.b64encode(root.sign(text.encode())).decode()
    return json.dumps({"list": text, "signature": signature, "root": root.key_id}, indent=1)


def kind_of(role: str) -> str:
    """Return which of the two lists a role belongs to."""
    return AGENTS if role == "compute" else SERVICES


def verified(document: str, roots: Iterable[PublicKey]) -> TrustList:
    """Parse and verify a document that one of the roots signed. Raises Invalid."""
    if len(document) > _LIST_BYTES_MAX:
        raise exception.Invalid(reason=f"a trust list must have at most {_LIST_BYTES_MAX} bytes")
    try:
        envelope = json.loads(document)
        text, signature = envelope["list"], base64.b64decode(envelope["signature"], validate=True)
        root = next((key for key in roots if key.key_id == envelope["root"]), None)
        signed = text.encode()
    except (
        ValueError, TypeError, KeyError, AttributeError, RecursionError, binascii.Error,
    ) as error:  # fmt: skip
        raise exception.Invalid(reason="this is not a trust list") from error
    if root is None:
        raise exception.Invalid(
            reason=f"the trust list is signed with the root key {envelope['root']!s:.32}, which is "
            "not in [signing] root_keys"
        )
    if not root.verifies(signature, signed):
        raise exception.Invalid(reason="the signature of the trust list is invalid")
    return _parsed(text, root.key_id)


def _parsed(text: str, root_id: str) -> TrustList:
    try:
        plain = json.loads(text)
        if plain["format"] != _FORMAT:
            raise exception.Invalid(reason=f"unknown trust list format {plain['format']}")
        identities = [_as_identity(one) for one in plain["identities"]]
        made = TrustList(plain["kind"], int(plain["serial"]), identities, root_id=root_id)
    except (ValueError, TypeError, KeyError) as error:
        raise exception.Invalid(reason="the trust list is signed, but malformed") from error
    stray = next((one for one in identities if kind_of(one.role) != made.kind), None)
    if stray is not None:
        raise exception.Invalid(
            reason=f"{stray.name} has the role {stray.role}, which does not belong on a trust list "
            f"of {made.kind!s:.20}"
        )
    return made


def _as_plain(identity: Identity) -> dict[str, Any]:
    return {
        "name": identity.name,
        "role": identity.role,
        "scope": identity.scope,
        "keys": [{"public": key.public.text, "not_after": key.not_after} for key in identity.keys],
        **({"hosts": [*identity.hosts]} if identity.hosts else {}),
    }


def _as_identity(plain: Mapping[str, Any]) -> Identity:
    keys = [
        TrustedKey(PublicKey.from_text(key["public"]), key["not_after"]) for key in plain["keys"]
    ]
    hosts = tuple(map(str, plain.get("hosts", ())))
    return Identity(plain["name"], plain["role"], plain["scope"], tuple(keys), hosts)
