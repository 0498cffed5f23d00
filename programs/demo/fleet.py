"""Data of the demo: hosts, flavors, images."""

from dataclasses import dataclass

PROCESS = "process"
SIMULATED = "simulated"


@dataclass(frozen=True, slots=True)
class Hosts:
    """Identical simulated hosts; several are numbered."""

    kind: str
    count: int
    vcpus: int
    memory_gb: int
    disk_gb: int

    @property
    def names(self) -> str:
        """Names as for ``armillary up --simulated``, also readable for people."""
        return f"{self.kind}-{{01..{self.count:02}}}" if self.count > 1 else f"{self.kind}-01"

    @property
    def declaration(self) -> str:
        """Value for ``armillary up --simulated``."""
        return (
            f"name={self.names}:vcpus={self.vcpus}:memory_mb={self.memory_gb * 1024}"
            f":disk_gb={self.disk_gb}"
        )


@dataclass(frozen=True, slots=True)
class Flavor:
    """Size of an instance."""

    name: str
    vcpus: int
    memory_mb: int
    disk_gb: int


# The biggest host is the weighers' first choice, and its builds fail. The small ones are never the
# first choice, so they serve as alternates.
FAILING = Hosts("giant", 1, vcpus=36, memory_gb=72, disk_gb=720)
FLEET = (
    FAILING,
    Hosts("large", 5, vcpus=32, memory_gb=64, disk_gb=640),
    Hosts("medium", 6, vcpus=24, memory_gb=48, disk_gb=480),
    Hosts("small", 8, vcpus=16, memory_gb=32, disk_gb=320),
)
FAILING_HOST = FAILING.names

THIS_MACHINE = 1
HOSTS_TOTAL = THIS_MACHINE + sum(hosts.count for hosts in FLEET)

TINY = Flavor("tiny", vcpus=1, memory_mb=64, disk_gb=1)
MEDIUM = Flavor("medium", vcpus=2, memory_mb=4096, disk_gb=20)
COLOSSAL = Flavor("colossal", vcpus=1, memory_mb=10 * 1024 * 1024, disk_gb=1)
FLAVORS = (TINY, MEDIUM, COLOSSAL)

REAL_COUNT = 3
SIMULATED_COUNT = 40

CONFIGURATION = f"""\
# Written by "armillary demo".
[simulated]
failing_hosts = {FAILING_HOST}
build_delay_seconds_min = 0.2
build_delay_seconds_max = 1.0
"""
