"""Ownership of a guest's files, which two hosts may share.

The hosts of a shared directory see the same note in it. Only the owner removes the files. If a host
that took a guest over has to revert the move, it makes the former host the owner again, unless that
one has already released the files.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from pathlib import Path
from typing import Self

from armillary import private_files

NOTE = "owner.json"


@dataclasses.dataclass(frozen=True, slots=True)
class Ownership:
    """``owner`` and ``former`` are hosts. ``token`` shows whether two hosts share the files.

    ``is_moving``: the guest is being moved, so it being off here has no meaning.
    """

    owner: str | None = None
    former: str | None = None
    token: str | None = None
    is_moving: bool = False

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Return the note in a directory; without one, any host owns it. Raises OSError."""
        try:
            plain = json.loads((directory / NOTE).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return cls()
        return cls(**{field.name: plain.get(field.name) for field in dataclasses.fields(cls)})

    def write(self, directory: Path) -> None:
        """Write the note atomically. Raises OSError."""
        private_files.write(directory / NOTE, json.dumps(dataclasses.asdict(self)))

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


def let_go(directory: Path, host: str) -> bool:
    """Record that a host destroys its guest; return whether it must also remove the files.

    Raises OSError.
    """
    note = Ownership.read(directory)
    if not note.is_of(host):
        if note.former == host:  # the move is final and can no longer be reverted
            dataclasses.replace(note, former=None).write(directory)
        return False
    if note.former is not None:
        Ownership(owner=note.former, is_moving=True).write(directory)
        return False
    return True
