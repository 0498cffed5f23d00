"""Signing as one process does it: seals what it sends, opens what comes, seals its answers."""

from __future__ import annotations

import dataclasses
import itertools
import logging
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import oslo_messaging
from oslo_messaging._drivers import common as wire

from armillary import exception, measures
from rpc import authority
from rpc.signing import seal
from rpc.signing.checking import Checker, Clock, refuse_repeated
from rpc.signing.keys import SigningKey
from rpc.signing.nonces import NonceLog
from rpc.signing.seal import Refused
from rpc.signing.trust import Identity
from rpc.signing.trust_file import TrustFile

LOG = logging.getLogger(__name__)

_REQUEST, _REPLY = "request", "reply"


@dataclasses.dataclass(frozen=True)
class Address:
    """The queue that a server takes messages from."""

    topic: str
    server: str
    fanout_log: str
    """Name of what remembers fanouts: each server that takes them needs one of its own."""


class Post:
    """The key of this process, whom it trusts, and whether it insists on signatures."""

    def __init__(
        self,
        *,
        key: SigningKey,
        trusted: Sequence[TrustFile],
        is_required: bool,
        window_seconds: float,
        nonce_directory: Path,
        slot: str,
        clock: Clock = time.time,
    ) -> None:
        """Take what signing needs; ``trusted`` are asked in their order.

        ``slot`` is a name that no other living process of this machine has, and that this one has
        again after a restart.
        """
        self.trusted = list(trusted)
        self.is_required = is_required
        self._key = key
        self._checker = Checker(trusted, window_seconds=window_seconds, clock=clock)
        self._window_seconds = window_seconds
        self._nonce_directory = nonce_directory
        self._slot = slot
        self._servers = itertools.count()
        self._clock = clock
        self._logs: dict[str, NonceLog] = {}
        self._lock = threading.Lock()

    def take_over(self, kind: str, document: str) -> None:
        """Take over a list that was pushed if it is newer, and one that this process needs."""
        for trusted in self.trusted:
            if trusted.kind != kind:
                continue
            try:
                trusted.offer(document)
            except exception.Invalid as error:
                LOG.warning("a trust list that was pushed is refused: %s", error.message)

    def address(self, topic: str, server: str) -> Address:
        """Return the address of a server that this process runs."""
        return Address(topic, server, f"{topic}.fanout.{self._slot}.{next(self._servers)}")

    # What this process sends

    def request(
        self, target: oslo_messaging.Target, ctxt: Any, message: Any
    ) -> tuple[dict[str, str], str]:
        """Return the message sealed, and its nonce, which the reply has to name."""
        nonce = seal.new_nonce()
        contents = {
            "kind": _REQUEST,
            "to": [target.topic, target.server, bool(target.fanout)],
            "nonce": nonce,
            "at": self._clock(),
            "ctxt": ctxt,
            "message": message,
        }
        return seal.seal(contents, self._key), nonce

    def reply(self, nonce: str, result: Any, failure: Any) -> dict[str, str]:
        """Return the sealed answer to a request; ``failure`` is as of ``sys.exc_info``."""
        contents = {
            "kind": _REPLY,
            "to": nonce,
            "at": self._clock(),
            "result": result,
            "failure": wire.serialize_remote_exception(failure) if failure else None,
        }
        return seal.seal(contents, self._key)

    # What comes to it

    def open_request(self, address: Address, message: Any) -> Opened | None:
        """Return what a sealed request says and who says it; None for an unsigned one.

        Raises Refused, also for an unsigned one where signatures are required.
        """
        sealed = seal.read(message)
        if sealed is None:
            if self.is_required:
                raise Refused("unsigned", "it is not signed")
            measures.unsigned_message(address.topic)
            return None
        identity, contents = self._checker.opened(sealed)
        log = self._log_of(address, contents)
        refuse_repeated(log, contents)
        return Opened(identity, contents["nonce"], contents["ctxt"], contents["message"])

    def open_reply(
        self, target: oslo_messaging.Target, nonce: str, answer: Any
    ) -> dict[str, Any] | None:
        """Return what a sealed answer says; None for an unsigned one. Raises Refused."""
        sealed = seal.read(answer)
        if sealed is None:
            if self.is_required:
                raise Refused("unsigned", "the answer is not signed")
            return None
        identity, contents = self._checker.opened(sealed)
        if contents.get("kind") != _REPLY or contents.get("to") != nonce:
            raise Refused("misdirected", "the answer is to another request")
        if not authority.may_answer(identity, target.topic, target.server):
            raise Refused("unauthorized", f"{identity.name} does not serve {target.topic}")
        return contents

    def _log_of(self, address: Address, contents: dict[str, Any]) -> NonceLog:
        """Return where the nonces of a message belong. Raises Refused when it was for others."""
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

    def _named_log(self, name: str) -> NonceLog:
        with self._lock:
            log = self._logs.get(name)
            if log is None:
                directory = self._nonce_directory / name.replace("/", "_")
                log = self._logs[name] = NonceLog(directory, self._window_seconds)
            return log


@dataclasses.dataclass(frozen=True)
class Opened:
    """A request that is believed."""

    identity: Identity
    nonce: str
    ctxt: dict[str, Any]
    message: dict[str, Any]
