"""Signing and verification of the messages of one process."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import oslo_messaging

from armillary import exception
from armillary.audit import AuditTrail
from armillary.logs.line_budget import BoundedLog
from armillary.logs.outage_log import OutageLog
from armillary.metrics import service_metrics
from rpc import authority, oslo_internals
from rpc.signing import envelope, trust
from rpc.signing.envelope import REPEATED, UNKNOWN_KEY, Contents, Refused
from rpc.signing.keys import SigningKey
from rpc.signing.nonces import NonceLog
from rpc.signing.place import Place
from rpc.signing.refusal_log import RefusalLog
from rpc.signing.trust import Identity
from rpc.signing.trust_file import TrustFile
from rpc.signing.verification import Clock, Verifier, refuse_replay

LOG = logging.getLogger(__name__)
_CAUSED = BoundedLog(LOG)
"""For lines that others cause."""

_REQUEST, _REPLY = "request", "reply"
_NEW_SECONDS = 60.0
"""For how long a server may get what was sent to a fanout before it was there."""

AGENT_ANSWER_CHARACTERS_MAX = 4 * 1024**2
"""Of what an agent answers: users ask for consoles, and their answers pass through all services."""

MayAnswer = Callable[[Identity, str | None], bool]
"""Returns whether an identity may answer a message to this server, or to any if None."""


@dataclasses.dataclass(frozen=True)
class Address:
    """The address that a server consumes."""

    place: Place
    topic: str
    server: str
    fanout_log: str
    """Name of its log of fanout nonces; each server that reads the fanout needs its own."""
    served_since: float = -math.inf
    """When the server was made, in seconds since the epoch."""


class MessageSigner:
    """Signs and verifies messages: a key, trust lists, and whether signatures are required."""

    def __init__(
        self,
        *,
        key: Callable[[], SigningKey],
        trusted: Sequence[TrustFile],
        is_required: bool,
        window_seconds: float,
        nonce_directory: Path,
        slot: str,
        trail: AuditTrail,
        clock: Clock = time.time,
    ) -> None:
        """Set up signing with the key that ``key`` returns for each message.

        The lists in ``trusted`` are searched in order.

        ``slot`` is a name that no other running process on this machine has, and that this process
        gets again after a restart. Refused messages are recorded in ``trail``.
        """
        self.refusals = RefusalLog(trail)
        self.trusted = list(trusted)
        self.is_required = is_required
        self._root_ids = frozenset().union(*(each.root_ids for each in self.trusted))
        self._key = key
        self._checker = Verifier(trusted, window_seconds=window_seconds, clock=clock)
        self._window_seconds = window_seconds
        self._nonce_directory = nonce_directory
        self._slot = slot
        self._servers = itertools.count()
        self._clock = clock
        self._logs: dict[str, NonceLog] = {}
        self._outage = OutageLog(
            LOG,
            f"The memory of received messages in {nonce_directory} (without it, a message may be "
            "accepted once more after a restart)",
        )
        self._lock = threading.Lock()

    def take_over(self, kind: str, document: str) -> bool:
        """Replace the trust list of this kind by a newer pushed one; return whether it was."""
        trusted = next((each for each in self.trusted if each.kind == kind), None)
        try:
            return trusted is not None and trusted.offer(document)
        except exception.Invalid as error:
            _CAUSED.write(logging.WARNING, "Rejected a pushed trust list: %s", error.message)
            return False

    def address(self, place: Place, topic: str, server: str) -> Address:
        """Return the address of a server in this process."""
        log = f"{topic}.fanout.{self._slot}.{next(self._servers)}"
        return Address(place, topic, server, log, self._clock())

    # Outgoing messages

    def request(
        self, place: Place, target: oslo_messaging.Target, ctxt: Any, message: Any
    ) -> tuple[dict[str, str], str]:
        """Return the signed message and its nonce, which the reply must contain."""
        nonce = envelope.new_nonce()
        contents = {
            "kind": _REQUEST,
            "for": self._destination_of(place),
            "to": [target.topic, target.server, bool(target.fanout)],
            "nonce": nonce,
            "at": self._clock(),
            "ctxt": ctxt,
            "message": message,
        }
        return envelope.sign(contents, self._key()), nonce

    def reply(self, place: Place, nonce: str, result: Any, failure: Any) -> dict[str, str]:
        """Return the signed reply to a request; ``failure`` is as from ``sys.exc_info``.

        Without its traceback: what it passed through concerns this process alone.
        """
        contents = {
            "kind": _REPLY,
            "for": self._destination_of(place),
            "to": nonce,
            "at": self._clock(),
            "result": result,
            "failure": oslo_internals.described(failure) if failure else None,
        }
        return envelope.sign(contents, self._key())

    # Incoming messages

    def open_request(self, address: Address, message: Any) -> VerifiedMessage | None:
        """Return the contents and sender of a signed request; None for an unsigned one.

        Raises Refused, also for an unsigned request if signatures are required.
        """
        signed = envelope.read(message)
        if signed is None:
            if self.is_required:
                raise Refused("unsigned", "it is not signed")
            service_metrics.RPC_UNSIGNED.add(address.topic)
            return None
        try:
            identity, contents = self._checker.verified(signed)
        except Refused as refused:
            if refused.reason != UNKNOWN_KEY or not self._learns_from(signed):
                raise
            identity, contents = self._checker.verified(signed)
        log = self._log_of(address, contents)
        self._check_destination(address.place, contents)
        try:
            self._checker.refuse_stale(contents)
            refuse_replay(log, contents)
        except Refused as refused:
            if not self._is_repeated(address, contents):
                raise
            raise Refused(REPEATED, f"for this new server; {refused}") from refused
        return VerifiedMessage(
            identity, signed.key_id, contents["nonce"], contents["ctxt"], contents["message"]
        )

    def _learns_from(self, signed: envelope.SignedMessage) -> bool:
        """Take over a newer trust list from a message; return whether it had one.

        A root key signed the list, so its sender need not be known. Often only the list says who
        that is: a conductor with a new key, of which this process has not heard.
        """
        match signed.contents().get("message"):
            case {
                "namespace": authority.BASE_NAMESPACE,
                "method": "update_trust",
                "args": {"kind": str(kind), "document": str(document)},
            }:
                return self.take_over(kind, document)
        return False

    def _is_repeated(self, address: Address, contents: Contents) -> bool:
        """Return whether the broker gave a new server the last messages of a fanout again."""
        is_fanout = contents["to"][2]
        age = self._clock() - address.served_since
        return is_fanout and contents["at"] < address.served_since and age < _NEW_SECONDS

    def open_reply(
        self,
        place: Place,
        target: oslo_messaging.Target,
        nonce: str,
        answer: Any,
        may_answer: MayAnswer,
    ) -> Contents | None:
        """Return the contents of a signed reply; None for an unsigned one.

        Raises Refused, also for an unsigned reply if signatures are required.
        """
        signed = envelope.read(answer)
        if signed is None:
            if self.is_required:
                raise Refused("unsigned", "the reply is not signed")
            return None
        identity, contents = self._checker.verified(signed)
        self._checker.refuse_stale(contents)
        if contents.get("kind") != _REPLY or contents.get("to") != nonce:
            raise Refused("misdirected", "the reply is to another request")
        if not isinstance(contents.get("failure"), str | None) or "result" not in contents:
            raise Refused("malformed")
        self._check_destination(place, contents)
        if not may_answer(identity, target.server):
            raise Refused("unauthorized", f"{identity.name} does not serve {target.topic}")
        if trust.kind_of(identity.role) == trust.AGENTS:
            _check_length(signed)
        return contents

    def _log_of(self, address: Address, contents: Contents) -> NonceLog:
        """Return the nonce log for a message. Raises Refused if another server was addressed."""
        match contents:
            case {
                "kind": "request",
                "to": [str(topic), str() | None as server, bool(fanout)],
                "ctxt": dict(),
                "message": {"method": str(), "args": dict()},
            }:
                pass
            case _:
                raise Refused("malformed")
        if topic != address.topic or server not in (None, address.server):
            raise Refused("misdirected", f"it was sent to {topic} {server or ''}".rstrip())
        if fanout:
            return self._named_log(address.fanout_log)
        return self._named_log(topic if server is None else f"{topic}.{server}")

    def _destination_of(self, place: Place) -> list[str]:
        """Return how a message names its place: deployment, cell or zone, and exchange.

        A deployment is known by its root key. Two zones have no root in common; the zone's name
        stands for itself.
        """
        is_shared = place.is_between_deployments
        return ["" if is_shared else self.trusted[0].current().root_id, *place]

    def _check_destination(self, place: Place, contents: Contents) -> None:
        """Raise Refused if a message is for another deployment, cell, zone or exchange."""
        match contents.get("for"):
            case [str(deployment), str(scope), str(exchange)]:
                roots = {""} if place.is_between_deployments else self._root_ids
                if deployment in roots and Place(scope, exchange) == place:
                    return
            case None:
                raise Refused("misdirected", "it names no deployment and cell")
            case _:
                raise Refused("malformed")
        raise Refused(
            "misdirected", f"it was sent to {scope!a:.80} of the deployment {deployment!a:.40}"
        )

    def _named_log(self, name: str) -> NonceLog:
        with self._lock:
            log = self._logs.get(name)
            if log is None:
                directory = self._nonce_directory / name.replace("/", "_")
                log = self._logs[name] = NonceLog(directory, self._window_seconds, self._outage)
            return log


@dataclasses.dataclass(frozen=True)
class VerifiedMessage:
    """A verified request."""

    identity: Identity
    key_id: str
    nonce: str
    ctxt: dict[str, Any]
    message: dict[str, Any]


def _check_length(answer: envelope.SignedMessage) -> None:
    """Raise Refused for an answer that is longer than any of an agent of ours."""
    if len(answer.text) > AGENT_ANSWER_CHARACTERS_MAX:
        raise Refused(
            "malformed",
            f"an agent's answer has {len(answer.text)} characters, at most "
            f"{AGENT_ANSWER_CHARACTERS_MAX}",
        )
