"""Whose the files of a guest are, where two hosts may share them, and what goes on with them.

The hosts of a shared directory see the same note in it. Its owner alone removes the files; a host
that took a guest over and has to give it back (the move is taken back) makes its former one the
owner again, as long as that one has not let go of it.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from pathlib import Path
from typing import Self

NOTE = "owner.json"


@dataclasses.dataclass(frozen=True, slots=True)
class Ownership:
    """``owner`` and ``former`` are hosts. ``token`` shows whether two hosts see the same files.

    ``is_moving``: the guest is on its way, so that it is off here says nothing.
    """

    owner: str | None = None
    former: str | None = None
    token: str | None = None
    is_moving: bool = False

    @classmethod
    def read(cls, directory: Path) -> Self:
        """Return the note of a guest; one without belongs to whoever asks. Raises OSError."""
        try:
            plain = json.loads((directory / NOTE).read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return cls()
        return cls(**{field.name: plain.get(field.name) for field in dataclasses.fields(cls)})

    def write(self, directory: Path) -> None:
        """Write the note, whole or not at all. Raises OSError."""
        begun = directory / f".{NOTE}.{secrets.token_hex(4)}"
        begun.write_text(json.dumps(dataclasses.asdict(self)), encoding="utf-8")
        begun.replace(directory / NOTE)

    def is_of(self, host: str) -> bool:
        """Whether the files are a host's own."""
        return self.owner in (None, host)

    def leaving(self) -> Ownership:
        """Return the note of a guest that is about to move, with a token to know it by."""
        return dataclasses.replace(self, token=secrets.token_hex(16), is_moving=True)

    def with_token(self) -> Ownership:
        """Return the note of a guest that may move; it runs on here meanwhile."""
        return dataclasses.replace(self, token=secrets.token_hex(16))

    def staying(self, host: str) -> Ownership:
        """Return the note of a guest that is this host's and does not move."""
        return Ownership(owner=host, former=self.former if self.owner == host else None)

    def taken_by(self, host: str) -> Ownership:
        """Return the note after another host took it over, for the time being."""
        former = self.former if self.owner == host else self.owner
        return Ownership(owner=host, former=former)


def let_go(directory: Path, host: str) -> bool:
    """Note that a host destroys its guest; return whether it is to remove the files as well.

    Raises OSError.
    """
    note = Ownership.read(directory)
    if not note.is_of(host):
        if note.former == host:  # the move is final: nobody gives it back to us
            dataclasses.replace(note, former=None).write(directory)
        return False
    if note.former is not None:
        Ownership(owner=note.former, is_moving=True).write(directory)
        return False
    return True
