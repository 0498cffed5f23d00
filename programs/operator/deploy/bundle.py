"""Private files with all that another machine needs to run one service of a deployment."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from armillary import exception
from programs.operator.deploy import units
from programs.operator.deploy.deployment import make_account, make_directories, write_configuration
from programs.operator.deploy.files import Files
from programs.operator.deploy.layout import Layout
from programs.operator.deploy.services import Service
from programs.operator.deploy.signing import serial_of
from programs.operator.deploy.steps import Steps
from rpc.signing.keys import PublicKey

_VERSION = 1
_JOINED = "joined-{name}.yaml"


@dataclasses.dataclass(frozen=True)
class Bundle:
    """A service with its secrets, its private key, and the trust lists."""

    service: Service
    root_key: str
    key: str
    lists: Mapping[str, str]

    def text(self) -> str:
        """Return the content of its file."""
        plain = {"version": _VERSION, **dataclasses.asdict(self)}
        plain["service"]["hosts"] = list(self.service.hosts)
        return yaml.safe_dump(plain, sort_keys=False)


def load(path: Path) -> Bundle:
    """Return the bundle in a file. Raises Invalid."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise exception.Invalid(reason=f"the bundle {path} cannot be read: {error}") from error
    try:
        plain: dict[str, Any] = yaml.safe_load(text)
        del plain["version"]  # another version may have other fields
        service = plain.pop("service")
        hosts = tuple(service.pop("hosts"))
        return Bundle(Service(**service, hosts=hosts), **plain)
    except (yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise exception.Invalid(
            reason=f"{path} is not a bundle of version {_VERSION}; write one with armillary-manage "
            "deploy add-host or add-cell"
        ) from error


def join(
    layout: Layout, steps: Steps, bundle: Bundle, *, overwrites: bool = False, starts: bool = True
) -> set[str]:
    """Set this machine up for the service, and start it. Raises Conflict and StepFailed.

    Return the service's name if its configuration changed.
    """
    files, service = Files(layout, steps, overwrites=overwrites), bundle.service
    is_services = not service.is_roots
    make_account(layout, steps)
    make_directories(layout, files, [service])
    files.write_private(service.key(layout), bundle.key, of_service=is_services)
    for kind, text in bundle.lists.items():
        path, root = service.trust(layout, kind), PublicKey.from_text(bundle.root_key)
        found = path.read_text(encoding="utf-8") if path.exists() else ""
        newer = text if serial_of(text, root) > serial_of(found, root) else found
        files.write_private(path, newer, of_service=is_services)
    changed = write_configuration(layout, files, [service], bundle.root_key)
    kept = layout.configuration / _JOINED.format(name=service.name)
    files.write_private(kept, bundle.text())
    reload = units.write(layout, files, [service])
    if layout.has_systemd and starts:
        units.start(layout, steps, [service], changed, reload=reload)
    return changed


def joined(layout: Layout) -> list[Service]:
    """Return the services whose bundles this machine has joined."""
    found = sorted(layout.configuration.glob(_JOINED.format(name="*")))
    return [load(path).service for path in found]
