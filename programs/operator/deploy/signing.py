"""Signing keys of a deployment, and the trust lists that its root key signs."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from armillary import exception
from programs.operator.deploy.files import Files, give_away
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service
from programs.operator.deploy.steps import Steps
from rpc.signing import enrolment, keys, trust
from rpc.signing.keys import PublicKey
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

    def key_elsewhere(self, service: Service) -> Path:
        """Return the file of another machine's key, to be deleted here once that machine has it."""
        return self._elsewhere(identity_name(service))

    def make_key_elsewhere(self, service: Service) -> None:
        """Make the key of another machine's service, unless the list has one."""
        root = keys.load(self.root_file) if self.root_file.exists() else None
        kind = trust.kind_of(service.role)
        current = enrolment.read(self._file(kind), kind, root) if root else None
        if current is None or identity_name(service) not in current.identities:
            self._make(self.key_elsewhere(service), is_services=False)

    def trust(
        self,
        services: Iterable[Service],
        elsewhere: Iterable[Service],
        removed: Collection[str] = (),
    ) -> None:
        """Bring both lists up to date, and copy them to the services of this machine.

        The ``removed`` names are in no list any more.
        """
        local = list(services)
        files = {each: each.key(self.layout) for each in local}
        files |= {each: self.key_elsewhere(each) for each in elsewhere}
        known = {
            each: keys.load(path).public if path.exists() else None for each, path in files.items()
        }
        lacking = [each for each in local if not each.key(self.layout).exists()]
        for kind in (SERVICES, AGENTS):
            of_kind = {each: known[each] for each in known if trust.kind_of(each.role) == kind}
            lacks = any(trust.kind_of(each.role) == kind for each in lacking)
            self._update(kind, of_kind, removed, lacks=lacks)
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

    def delete_key_elsewhere(self, name: str) -> None:
        """Delete the key of another machine's service, if it is still here."""
        path = self._elsewhere(name)
        self.steps.do("delete", f"key {path}", path.unlink, is_done=not path.exists())

    def _elsewhere(self, name: str) -> Path:
        return self.layout.keys / "elsewhere" / f"{name}.key"

    def _update(
        self,
        kind: str,
        services: Mapping[Service, PublicKey | None],
        removed: Collection[str],
        *,
        lacks: bool,
    ) -> None:
        path = self._file(kind)
        root = keys.load(self.root_file) if self.root_file.exists() else None
        current = enrolment.read(path, kind, root) if root else trust.TrustList(kind, 0, [])
        wanted = [_wanted(current, each, key) for each, key in services.items()]
        changes: dict[str, Identity | None] = {
            each.name: each for each in wanted if each and each != current.identities.get(each.name)
        }
        changes |= dict.fromkeys(current.identities.keys() & set(removed))

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
        path, root = service.trust(self.layout, kind), keys.load(self.root_file).public
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        if serial_of(found, root) >= serial_of(self.list_text(kind), root):
            return
        self.files.write_private(path, self.list_text(kind), of_service=not service.is_roots)


def identity_of(service: Service, key: PublicKey) -> Identity:
    """Return the entry of a service in the trust list."""
    return Identity(
        identity_name(service), service.role, service.scope, (TrustedKey(key),), service.hosts
    )


def identity_name(service: Service) -> str:
    """Return the name of a service in the trust list."""
    return agent_name(service.scope or "") if service.is_agent else service.name


def agent_name(host: str) -> str:
    """Return the name of an agent in the trust list."""
    return f"compute-{host}"


def _wanted(current: trust.TrustList, service: Service, key: PublicKey | None) -> Identity | None:
    """Return the entry that a service needs in a list, None if its key is in neither.

    Keys that ``key rotate`` added stay, also for a service whose key is no longer on this machine.
    """
    found = current.identities.get(identity_name(service))
    if found is not None and (key is None or key.key_id in _ids(found)):
        return dataclasses.replace(
            found, role=service.role, scope=service.scope, hosts=service.hosts
        )
    return None if key is None else identity_of(service, key)


def _ids(identity: Identity) -> set[str]:
    return {key.public.key_id for key in identity.keys}


def serial_of(document: str, root: PublicKey) -> int:
    """Return the serial number of a list, -1 of one that this root key did not sign."""
    try:
        return trust.verified(document, [root]).serial
    except exception.Invalid:
        return -1
