"""``armillary-manage key``: keys of processes, and trust lists.

The commands work on files only. Trust lists are changed where the root key is, which is not a
machine of the deployment, and copied to the super conductors, which distribute them.
"""

import argparse
import time
from abc import abstractmethod
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from armillary import exception
from programs.application import WithOptions
from programs.display.output import Lister, ShowOne
from rpc.signing import enrolment, keys, trust
from rpc.signing.keys import PublicKey, SigningKey
from rpc.signing.trust import Identity, TrustedKey, TrustList

OVERLAP_SECONDS = 86_400.0

COLUMNS = ("Name", "Role", "Scope", "Key", "Ends", "Further hosts")


class KeyCreate(ShowOne):
    """Create a key file for a process, or for a root key; print the public key.

    The file is readable by this user only and never has to leave this machine.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "file", type=Path, help="file to create, such as the [signing] key_file"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        made = keys.create(parsed_args.file).public
        return ("Key", "Public key", "File"), (made.key_id, made.text, str(parsed_args.file))


class KeyShow(ShowOne):
    """Show the public key of a key file."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="key file")

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        found = keys.load(parsed_args.file).public
        return ("Key", "Public key"), (found.key_id, found.text)


class _ListCommand(WithOptions):
    """Common part of commands that change a trust list: its file and the root key."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="identity, such as compute-rack1-4")
        parser.add_argument(
            "--list", type=Path, required=True, dest="path", metavar="FILE",
            help="trust list to change: that of the services, or that of the agents",
        )  # fmt: skip
        parser.add_argument(
            "--root-key", type=Path, required=True, metavar="FILE", help="file of the root key"
        )

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        root = keys.load(parsed_args.root_key)
        current = enrolment.read(parsed_args.path, self.kind(parsed_args, root), root)
        changed = self.changed(parsed_args, current)
        enrolment.write(parsed_args.path, changed, root)
        count = len(changed.identities)
        identities = "1 identity" if count == 1 else f"{count} identities"
        self.app.stdout.write(
            f"{parsed_args.path}: trust list of {changed.kind}, serial {changed.serial}, "
            f"{identities}\n"
        )

    def kind(self, parsed_args: argparse.Namespace, root: SigningKey) -> str:
        """Return the kind of the trust list."""
        return _list_of(parsed_args.path, [root.public]).kind

    @abstractmethod
    def changed(self, parsed_args: argparse.Namespace, current: TrustList) -> TrustList:
        """Return the changed list."""


class KeyTrust(_ListCommand):
    """Add an identity to a trust list: its messages are trusted from then on."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--role", required=True, choices=trust.ROLES, help="role")
        scopes = "; ".join(f"{role}: {scope}" for role, scope in trust.SCOPED.items())
        parser.add_argument("--scope", help=f"scope that the key is valid for. {scopes}")
        parser.add_argument(
            "--host", action="append", default=[], dest="hosts", metavar="PATTERN",
            help="host that an agent may have besides that of its scope, or that a cell may be the "
            "first to name, such as 'rack1-*'; may be repeated",
        )  # fmt: skip
        parser.add_argument("--public", required=True, help="public key, base64")

    def kind(self, parsed_args: argparse.Namespace, root: SigningKey) -> str:
        return trust.kind_of(parsed_args.role)

    def changed(self, parsed_args: argparse.Namespace, current: TrustList) -> TrustList:
        key = TrustedKey(PublicKey.from_text(parsed_args.public))
        identity = Identity(
            parsed_args.name, parsed_args.role, parsed_args.scope, (key,), tuple(parsed_args.hosts)
        )
        return enrolment.trusted(current, identity)


class KeyHosts(_ListCommand):
    """Replace the patterns of hosts that an agent, or a cell, is enrolled for."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument(
            "--host", action="append", default=[], dest="hosts", metavar="PATTERN",
            help="pattern such as 'rack1-*'; may be repeated; default: none",
        )  # fmt: skip

    def changed(self, parsed_args: argparse.Namespace, current: TrustList) -> TrustList:
        return enrolment.with_hosts(current, parsed_args.name, tuple(parsed_args.hosts))


class KeyRotate(_ListCommand):
    """Give an identity a new key; its old keys stay valid during an overlap."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--public", required=True, help="new public key, base64")
        parser.add_argument(
            "--overlap-seconds", type=float, default=OVERLAP_SECONDS,
            help="seconds for which the old keys stay valid; default: a day",
        )  # fmt: skip

    def changed(self, parsed_args: argparse.Namespace, current: TrustList) -> TrustList:
        if parsed_args.overlap_seconds < 0:
            raise exception.Invalid(reason="--overlap-seconds must not be negative")
        return enrolment.rotated(
            current, parsed_args.name, PublicKey.from_text(parsed_args.public),
            now=time.time(), overlap_seconds=parsed_args.overlap_seconds,
        )  # fmt: skip


class KeyRevoke(_ListCommand):
    """Remove an identity, or one of its keys, from a trust list."""

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--key", help="id of the key to revoke; default: all keys")

    def changed(self, parsed_args: argparse.Namespace, current: TrustList) -> TrustList:
        return enrolment.revoked(current, parsed_args.name, parsed_args.key)


class KeySign(WithOptions):
    """Sign a trust list with another root key, to replace the one that signed it."""

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--list", type=Path, required=True, dest="path", metavar="FILE", help="trust list"
        )
        parser.add_argument(
            "--root-key", type=Path, required=True, metavar="FILE", help="file of the new root key"
        )
        parser.add_argument(
            "--former", required=True, metavar="PUBLIC",
            help="public half of the root key that signed the list, base64",
        )  # fmt: skip

    def take_action(self, parsed_args: argparse.Namespace) -> None:
        current = _list_of(parsed_args.path, [PublicKey.from_text(parsed_args.former)])
        enrolment.write(parsed_args.path, current.changed({}), keys.load(parsed_args.root_key))
        self.app.stdout.write(f"{parsed_args.path}: signed, serial {current.serial + 1}\n")


class KeyList(Lister):
    """List trusted identities and keys, of lists signed by --root-key or [signing] root_keys."""

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--list", type=Path, action="append", dest="paths", metavar="FILE",
            help="trust list; default: those of [signing]",
        )  # fmt: skip
        parser.add_argument(
            "--root-key", type=Path, metavar="FILE",
            help="file of the root key that signed the list; default: [signing] root_keys",
        )  # fmt: skip

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        signing = self.app.conf.signing
        configured = [signing.trust_file, signing.compute_trust_file]
        paths = parsed_args.paths or [Path(path) for path in configured if path]
        roots = [PublicKey.from_text(text) for text in signing.root_keys]
        if parsed_args.root_key is not None:
            roots = [keys.load(parsed_args.root_key).public]
        return COLUMNS, [row for path in paths for row in _rows(_list_of(path, roots))]


def _list_of(path: Path, roots: list[PublicKey]) -> TrustList:
    try:
        return trust.verified(path.read_text(), roots)
    except (OSError, UnicodeDecodeError) as error:
        raise exception.Invalid(reason=f"the trust list {path} cannot be read") from error


def _rows(found: TrustList) -> list[tuple[str, ...]]:
    return [
        (
            identity.name,
            identity.role,
            identity.scope or "",
            key.public.key_id,
            _end(key),
            " ".join(identity.hosts),
        )
        for identity in found.identities.values()
        for key in identity.keys
    ]


def _end(key: TrustedKey) -> str:
    if key.not_after is None:
        return ""
    return datetime.fromtimestamp(key.not_after, UTC).isoformat(timespec="seconds")
