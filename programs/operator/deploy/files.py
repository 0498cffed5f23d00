"""Files and directories of a deployment, with owner and mode.

A written file has a checksum in its first line, so that a later run notices when it was edited.
"""

import functools
import hashlib
import os
import re
import shutil
import stat
from pathlib import Path

from armillary import exception
from armillary.files import private_files
from programs.operator.deploy.layout import Layout, ids_of
from programs.operator.deploy.steps import Steps

_FIRST_LINE = re.compile(r"# Written by armillary-manage deploy\b.*\(checksum (?P<sum>\w{16})\)\n")


class Files:
    """Makes directories and files where they are missing or differ."""

    def __init__(self, layout: Layout, steps: Steps, *, overwrites: bool) -> None:
        self._layout = layout
        self._steps = steps
        self._overwrites = overwrites

    def directory(
        self, path: Path, mode: int, *, of_service: bool = False, of_root: bool = False
    ) -> None:
        """Make a directory: root's with the services' group, of the services' account, or of root.

        ``mode`` is as in ``chmod``.
        """
        owner = self._owner(is_services=of_service, is_groups=not of_root)
        self._steps.do(
            "create" if not path.exists() else "change",
            f"directory {path} (mode {mode:04o})",
            lambda: _make_directory(path, mode, owner),
            is_done=path.is_dir() and _has(path, mode, owner),
        )

    def write(
        self, path: Path, text: str, mode: int, *, hint: str = "", of_service: bool = False
    ) -> bool:
        """Write a file that this command owns; return whether it changed.

        Raises Conflict if it was edited, and must not be overwritten.
        """
        body = text if text.endswith("\n") else f"{text}\n"
        head = f"# Written by armillary-manage deploy{hint} (checksum {_checksum(body)})\n"
        found = _read(path)
        if found is not None and found != head + body and not self._overwrites:
            _refuse_edited(path, found, hint)
        return self._replace(path, head + body, mode, found, of_service=of_service)

    def write_private(self, path: Path, text: str, *, of_service: bool = False) -> bool:
        """Write a file of mode 0600 without a first line of ours; return whether it changed."""
        return self._replace(path, text, 0o600, _read(path), of_service=of_service)

    def write_once(self, path: Path, text: str, mode: int) -> bool:
        """Write a file that is the operator's from then on; return whether it was missing."""
        found = _read(path)
        return self._replace(path, text if found is None else found, mode, found)

    def delete(self, path: Path) -> None:
        """Delete a file."""
        self._steps.do("delete", f"file {path}", path.unlink, is_done=not path.exists())

    def delete_directory(self, path: Path) -> None:
        """Delete a directory with all that is in it."""
        delete = functools.partial(shutil.rmtree, path)
        self._steps.do("delete", f"directory {path}", delete, is_done=not path.exists())

    def _replace(
        self, path: Path, text: str, mode: int, found: str | None, *, of_service: bool = False
    ) -> bool:
        owner = self._owner(is_services=of_service, is_groups=bool(mode & stat.S_IRGRP))
        return self._steps.do(
            "create" if found is None else "change",
            f"file {path} (mode {mode:04o})",
            lambda: _write(path, text, mode, owner),
            is_done=found == text and _has(path, mode, owner),
        )

    def _owner(self, *, is_services: bool, is_groups: bool) -> tuple[int, int] | None:
        account = self._layout.account
        if account is None:
            return None
        try:
            return ids_of(
                account if is_services else "root", account if is_services or is_groups else "root"
            )
        except KeyError:  # a dry run before the account is made
            return -1, -1


def give_away(path: Path, layout: Layout) -> None:
    """Make a file the services' account's."""
    owner = ids_of(layout.account, layout.account) if layout.account else None
    if owner is not None:
        os.chown(path, *owner)


def _refuse_edited(path: Path, found: str, hint: str) -> None:
    head = _FIRST_LINE.match(found)
    if head is not None and head["sum"] == _checksum(found[head.end() :]):
        return
    raise exception.Conflict(
        reason=f"{path} was changed since armillary-manage deploy wrote it, or is not its own"
        f"{hint}. Move your changes, then give --overwrite"
    )


def _checksum(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()[:16]


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise exception.Invalid(
            reason=f"{path} cannot be read; run this command as root, or give --root DIR"
        ) from error


def _has(path: Path, mode: int, owner: tuple[int, int] | None) -> bool:
    found = path.stat()
    is_owned = owner is None or owner == (found.st_uid, found.st_gid)
    return is_owned and stat.S_IMODE(found.st_mode) == mode


def _make_directory(path: Path, mode: int, owner: tuple[int, int] | None) -> None:
    path.mkdir(parents=True, exist_ok=True)
    path.chmod(mode)
    if owner is not None:
        os.chown(path, *owner)


def _write(path: Path, text: str, mode: int, owner: tuple[int, int] | None) -> None:
    """Replace the file atomically by one with this owner and mode."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with private_files.replacing(path) as file:
        file.write(text.encode())
        if owner is not None:
            os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
