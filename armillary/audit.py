"""Audit trail: who did what to which object with which outcome, as CADF events in lines of JSON."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
import threading
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from oslo_config import cfg

from armillary import conf as configuration
from armillary.conf import audit as options
from armillary.files.private_files import FILE_MODE
from armillary.logs.outage_log import OutageLog
from armillary.metrics import service_metrics

LOG = logging.getLogger(__name__)

EVENT = "http://schemas.dmtf.org/cloud/audit/1.0/event"
SUCCESS, REFUSED, FAILED, UNKNOWN = "success", "failure/refused", "failure", "unknown"
"""Outcomes; REFUSED: by authentication, policy, signature, authority or ownership."""
FIELD_NAMES_MAX = 32

Values = dict[str, Any]
"""A part of an event, ready for JSON."""

_OPEN_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK


@dataclass(frozen=True, slots=True, kw_only=True)
class Initiator:
    """Who asked, as far as that is proven.

    ``credential`` is the id of a token or key, never the token itself; of a refused signature it is
    the key that the message names.
    """

    kind: str
    id: str | None = None
    project_id: str | None = None
    credential: str | None = None
    address: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What was done or refused.

    ``reason`` is the class of an error or why a message was refused, ``status`` that of the HTTP
    response, ``rule`` the policy that refused it. ``fields`` are names only.
    """

    action: str
    outcome: str
    initiator: Initiator
    target_kind: str
    target_id: str | None = None
    reason: str | None = None
    status: int | None = None
    rule: str | None = None
    path: str | None = None
    fields: Sequence[str] = ()
    request_id: str | None = None
    global_request_id: str | None = None


class AuditTrail:
    """Writes events to a file; without a path it writes none. Thread-safe, never raises OSError."""

    def __init__(self, path: Path | None, *, observer: str, characters_max: int) -> None:
        self._file = None if path is None else _AppendedFile(path)
        self._observer = observer
        self._characters_max = characters_max
        self._outage = OutageLog(LOG, f"The audit log {path}")

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, service: str) -> AuditTrail:
        """Return the trail of ``[audit]``; ``service`` says in its events who observed them."""
        configuration.register(conf, options)
        path = conf.audit.log_file
        return cls(
            Path(path) if path else None,
            observer=service,
            characters_max=conf.audit.value_characters_max,
        )

    @property
    def is_on(self) -> bool:
        """Whether events are written."""
        return self._file is not None

    def record(self, event: Event) -> None:
        """Write an event. A failure is logged and counted, and does not concern the caller."""
        if self._file is None:
            return
        try:
            self._file.append(_line(self._shown(event)))
        except OSError as error:
            service_metrics.AUDIT_LOST.add()
            self._outage.failed(error)
        else:
            self._outage.succeeded()

    def _shown(self, event: Event) -> Values:
        """Return an event in CADF's form, without what is not known."""
        who = event.initiator
        reason = {
            "reasonType": event.reason,
            "reasonCode": None if event.status is None else str(event.status),
            "policyId": event.rule,
        }
        shown: Values = {
            "typeURI": EVENT,
            "id": str(uuid.uuid4()),
            "eventType": "activity",
            "eventTime": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "action": event.action,
            "outcome": event.outcome,
            "reason": reason,
            "initiator": {
                "typeURI": who.kind,
                "id": who.id,
                "project_id": who.project_id,
                "credential": {"identifier": who.credential},
                "host": {"address": who.address},
                "request_id": event.request_id,
                "global_request_id": event.global_request_id,
            },
            "target": {"typeURI": event.target_kind, "id": event.target_id},
            "observer": {"typeURI": "service", "id": self._observer},
            "requestPath": event.path,
            "fields": [self._cut(name) for name in event.fields[:FIELD_NAMES_MAX]],
        }
        return self._known(shown)

    def _known(self, values: Values) -> Values:
        """Return the values that are known, cut to their maximum length."""
        known: Values = {}
        for name, value in values.items():
            if isinstance(value, dict):
                value = self._known(value)
            elif isinstance(value, str):
                value = self._cut(value)
            if value:
                known[name] = value
        return known

    def _cut(self, text: str) -> str:
        excess = len(text) - self._characters_max
        return text if excess <= 0 else f"{text[: self._characters_max]} (and {excess} more)"


class _AppendedFile:
    """A file to which each line is added by one write, so that processes can share it.

    It is opened again when its path leads to another file or none: logrotate moved it.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._is_torn = False

    def append(self, line: bytes) -> None:
        """Add a line. Raises OSError."""
        with self._lock:
            descriptor = self._current()
            text = b"\n" + line if self._is_torn else line
            written = os.write(descriptor, text)
            self._is_torn = written < len(text)
        if self._is_torn:
            raise OSError(f"{written} of {len(text)} bytes were written to {self._path}")

    def _current(self) -> int:
        if self._descriptor is not None:
            if self._is_at_path(self._descriptor):
                return self._descriptor
            self._close()
        self._descriptor = _opened(self._path)
        self._is_torn = False
        return self._descriptor

    def _is_at_path(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), self._path.stat())
        except FileNotFoundError:
            return False

    def _close(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def __del__(self) -> None:
        self._close()


def _opened(path: Path) -> int:
    """Open a regular file to append to, and withdraw others' access to it. Raises OSError."""
    descriptor = os.open(path, _OPEN_FLAGS, FILE_MODE)
    try:
        _make_private(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _make_private(descriptor: int) -> None:
    found = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(found):
        raise OSError(errno.EINVAL, "not a regular file")
    if stat.S_IMODE(found) != FILE_MODE:
        os.fchmod(descriptor, FILE_MODE)


def _line(values: Values) -> bytes:
    """Return the values as a line of ASCII: control characters are escaped."""
    text = json.dumps(values, separators=(",", ":"))
    return text.replace("\x7f", "\\u007f").encode() + b"\n"
