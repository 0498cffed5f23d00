"""Signing keys of a deployment, and the trust lists that its root key signs."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

from armillary import exception
from programs.operator.deploy.files import Files, give_away
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service
from programs.operator.deploy.steps import Steps
from rpc.signing import enrolment, keys, trust
from rpc.signing.keys import PublicKey, SigningKey
from rpc.signing.trust import AGENTS, SERVICES, Identity, TrustedKey


@dataclasses.dataclass(frozen=True)
class Signing:
    """Makes keys and lists where they are missing."""

    layout: Layout
    steps: Steps
    files: Files

    @property
    def root_file(self) -> Path:
        return self.layout.keys / "root.key"

    def root_key(self) -> str:
        """Return the public root key, made if it is missing."""
        self._make(self.root_file, is_services=False)
        return keys.load(self.root_file).public.text if self.root_file.exists() else ""

    def make_key(self, service: Service) -> None:
        """Make the key of a service of this machine."""
        self._make(service.key(self.layout), is_services=not service.is_roots)

    def trust(self, services: Iterable[Service], elsewhere: Iterable[Identity]) -> None:
        """Bring both lists up to date, and copy them to the services of this machine."""
        local = list(services)
        wanted = [*filter(None, map(self._identity, local)), *elsewhere]
        lacking = [each for each in local if not each.key(self.layout).exists()]
        for kind in (SERVICES, AGENTS):
            of_kind = [each for each in wanted if trust.kind_of(each.role) == kind]
            lacks = any(trust.kind_of(each.role) == kind for each in lacking)
            self._update(kind, of_kind, lacks=lacks)
            for service in local:
                if kind == SERVICES or service.hears_agents:
                    self._copy(kind, service)

    def list_text(self, kind: str) -> str:
        """Return the signed list of this deployment."""
        return self._file(kind).read_text(encoding="utf-8")

    def _file(self, kind: str) -> Path:
        return self.layout.keys / f"{kind}.json"

    def _make(self, path: Path, *, is_services: bool) -> None:
        def make() -> None:
            keys.create(path)
            if is_services:
                give_away(path, self.layout)

        self.steps.do("create", f"key {path}", make, is_done=path.exists())

    def _identity(self, service: Service) -> Identity | None:
        path = service.key(self.layout)
        if not path.exists():  # in a dry run
            return None
        return identity_of(service, keys.load(path).public)

    def _update(self, kind: str, wanted: list[Identity], *, lacks: bool) -> None:
        path = self._file(kind)
        root = keys.load(self.root_file) if self.root_file.exists() else None
        current = enrolment.read(path, kind, root) if root else trust.TrustList(kind, 0, [])
        changes = {each.name: each for each in wanted if not _is_trusted(current, each)}

        def write() -> None:
            assert root is not None, "made before"
            enrolment.write(path, current.changed(changes), root)
            path.chmod(0o600)

        self.steps.do(
            "sign",
            f"trust list of {kind}",
            write,
            is_done=path.exists() and not changes and not lacks,
        )

    def _copy(self, kind: str, service: Service) -> None:
        """Give a service the list unless it has it, or a newer one that was pushed to it."""
        if not self._file(kind).exists():  # in a dry run
            return
        path, root = service.trust(self.layout, kind), keys.load(self.root_file)
        if path.exists() and _serial(path, root) >= _serial(self._file(kind), root):
            return
        self.files.write_exactly(path, self.list_text(kind), 0o600, of_service=not service.is_roots)


def identity_of(service: Service, key: PublicKey) -> Identity:
    """Return what the trust list says of a service."""
    name = f"compute-{service.scope}" if service.is_agent else service.name
    return Identity(name, service.role, service.scope, (TrustedKey(key),), service.hosts)


def _is_trusted(current: trust.TrustList, wanted: Identity) -> bool:
    """Return whether a list has an identity; a key that ``key rotate`` added is as good."""
    found = current.identities.get(wanted.name)
    if found is None:
        return False
    own = {key.public.key_id for key in found.keys}
    same = (found.role, found.scope, found.hosts) == (wanted.role, wanted.scope, wanted.hosts)
    return same and all(key.public.key_id in own for key in wanted.keys)


def _serial(path: Path, root: SigningKey) -> int:
    try:
        return trust.opened(path.read_text(encoding="utf-8"), [root.public]).serial
    except (exception.Invalid, OSError, UnicodeDecodeError):
        return -1
