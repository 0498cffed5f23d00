"""Places of a deployment's files on a machine, and whose they are."""

import dataclasses
import grp
import os
import pwd
import sys
from pathlib import Path

ACCOUNT = "armillary"
"""System account of all services other than agents."""

RUNNING_SYSTEMD = Path("/run/systemd/system")


@dataclasses.dataclass(frozen=True)
class Layout:
    """Directories below a root, which is ``/`` on a machine of the deployment's own."""

    root: Path

    @property
    def is_system(self) -> bool:
        return self.root == Path("/")

    @property
    def has_systemd(self) -> bool:
        """Whether systemd runs here and reads our units."""
        return self.is_system and RUNNING_SYSTEMD.is_dir()

    @property
    def account(self) -> str | None:
        """Name of the services' account; None if they run as the calling user."""
        return ACCOUNT if self.is_system else None

    @property
    def configuration(self) -> Path:
        return self.root / "etc/armillary"

    @property
    def keys(self) -> Path:
        """Directory of the root key and the trust lists that it signs."""
        return self.configuration / "signing"

    @property
    def record(self) -> Path:
        """File of the choices and secrets that everything else is written from."""
        return self.configuration / "deployment.yaml"

    @property
    def state(self) -> Path:
        return self.root / "var/lib/armillary"

    @property
    def agent_state(self) -> Path:
        return self.root / "var/lib/armillary-compute"

    @property
    def operator_state(self) -> Path:
        return self.root / "var/lib/armillary-manage"

    @property
    def units(self) -> Path:
        return self.root / "etc/systemd/system"

    @property
    def packaged_units(self) -> tuple[Path, ...]:
        """Directories with the units of a distribution's package."""
        return self.root / "usr/lib/systemd/system", self.root / "lib/systemd/system"

    @property
    def logs(self) -> Path:
        """Logs of services that are not started by systemd."""
        return self.root / "var/log/armillary"

    @property
    def processes(self) -> Path:
        """Process IDs of services that are not started by systemd."""
        return self.root / "run/armillary"

    @property
    def programs(self) -> Path:
        """Directory of the programs of this installation."""
        return Path(sys.executable).parent


def ids_of(owner: str, group: str) -> tuple[int, int] | None:
    """Return user and group ID, or None where only root could give a file away."""
    if os.geteuid() != 0:
        return None
    return pwd.getpwnam(owner).pw_uid, grp.getgrnam(group).gr_gid


def account_exists() -> bool:
    try:
        pwd.getpwnam(ACCOUNT)
    except KeyError:
        return False
    return True
