"""Ownership of a guest's files, which two hosts may share.

The hosts that share them see the same note beside them. Only the owner removes the files. If a host
that took a guest over has to revert the move, it makes the former host the owner again, unless that
one has already released the files.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from typing import Protocol, Self


@dataclasses.dataclass(frozen=True, slots=True)
class Ownership:
    """``owner`` and ``former`` are hosts. ``token`` shows whether two hosts share the files.

    ``is_moving``: the guest is being moved, so it being off here has no meaning.
    ``arriving_bytes``: how much copies of its disks take at most, while it is on its way here.
    """

    owner: str | None = None
    former: str | None = None
    token: str | None = None
    is_moving: bool = False
    arriving_bytes: int | None = None

    @classmethod
    def from_text(cls, text: str | None) -> Self:
        """Return the note from its text; without a valid one, any host owns the files."""
        try:
            plain = json.loads(text or "")
            return cls(**{field.name: plain.get(field.name) for field in dataclasses.fields(cls)})
        except (AttributeError, ValueError):
            return cls()

    def to_text(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    def is_of(self, host: str) -> bool:
        """Return whether the files belong to a host."""
        return self.owner in (None, host)

    def leaving(self) -> Ownership:
        """Return the note for a guest that is about to move, with a new token."""
        return dataclasses.replace(self, token=secrets.token_hex(16), is_moving=True)

    def with_token(self) -> Ownership:
        """Return the note for a guest that may move and keeps running here until then."""
        return dataclasses.replace(self, token=secrets.token_hex(16))

    def staying(self, host: str) -> Ownership:
        """Return the note for a guest of this host that does not move."""
        return Ownership(owner=host, former=self.former if self.owner == host else None)

    def taken_by(self, host: str) -> Ownership:
        """Return the note after another host took the guest over, which may be reverted."""
        former = self.former if self.owner == host else self.owner
        return Ownership(owner=host, former=former)


class Noted(Protocol):
    """Files of a guest with a note of their owner."""

    def read_note(self) -> Ownership: ...

    def write_note(self, note: Ownership) -> None: ...


def let_go(files: Noted, host: str) -> bool:
    """Record that a host destroys its guest; return whether it must also remove the disks.

    Raises DiskError, OSError.
    """
    note = files.read_note()
    if not note.is_of(host):
        if note.former == host:  # the move is final and can no longer be reverted
            files.write_note(dataclasses.replace(note, former=None))
        return False
    if note.former is not None:
        files.write_note(Ownership(owner=note.former, is_moving=True))
        return False
    return True
