"""Pictures of each view over 1,000 simulated hosts with load.

Run ``python -m tests.console.screenshots DIR``. The load is drawn from a seed; hosts are in racks,
which are aggregates with a key; some are disabled and some are down. Beside them are pools with
claims.
"""

import itertools
import random
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from simulator.results.html_page import write_html
from simulator.scenario.policies import read_policies
from simulator.scenario.scenario_file import read_scenario
from simulator.simulation import simulate
from tests.console.browser import Tab, chromium
from tests.console.deployment import Deployment, add_flavor, deployment, token_of
from tests.fixtures.asking import wait_for

ROOT = Path(__file__).resolve().parent.parent.parent
HOSTS = (
    "name=a-{01..10}-{01..40}:vcpus=32:memory_mb=65536:disk_gb=2000",
    "name=b-{01..10}-{01..40}:vcpus=48:memory_mb=98304:disk_gb=2000:traits=CUSTOM_SSD",
    "name=gpu-{01..05}-{01..40}:vcpus=24:pcpus=24:memory_mb=196608:disk_gb=4000:numa=2"
    ":pci=10de/20b0@4",
)
HOSTS_TOTAL = 1001  # with the one that can die
ZONES = {"a": "east", "b": "west", "gpu": "west"}
FLAVORS = {"small": (2, 4, 20), "medium": (4, 16, 40), "large": (8, 32, 80), "huge": (16, 60, 100)}
"""Flavor -> vCPUs, GiB of memory, GiB of disk."""
REQUESTS = 36
SERVERS_A_REQUEST = 24
NAMES = ("web", "cache", "db", "batch", "ci")
POOLS: dict[str, tuple[str, dict[str, int], list[str]]] = {
    "array-east-1": ("storage", {"DISK_GB": 40_000}, ["STORAGE_DISK_SSD"]),
    "array-east-2": ("storage", {"DISK_GB": 40_000}, ["STORAGE_DISK_SSD"]),
    "array-west-1": ("storage", {"DISK_GB": 120_000}, ["STORAGE_DISK_HDD"]),
    "public-1": ("network", {"IPV4_ADDRESS": 254, "NET_BW_EGR_KILOBIT_PER_SEC": 10_000_000}, []),
    "public-2": ("network", {"IPV4_ADDRESS": 510, "NET_BW_EGR_KILOBIT_PER_SEC": 40_000_000}, []),
    "renderer-2031": ("license", {"CUSTOM_LICENSE_RENDERER": 60}, []),
}
"""Pool -> kind, amounts and traits."""
CLAIMS: tuple[tuple[str, str, dict[str, int], list[str]], ...] = (
    ("scratch", "storage", {"DISK_GB": 4000}, ["STORAGE_DISK_SSD"]),
    ("archive", "storage", {"DISK_GB": 15_000}, ["STORAGE_DISK_HDD"]),
    ("front", "network", {"IPV4_ADDRESS": 24, "NET_BW_EGR_KILOBIT_PER_SEC": 2_000_000}, []),
    ("render", "license", {"CUSTOM_LICENSE_RENDERER": 9}, []),
)
"""Claims of the same name prefix: kind, amounts and required traits of each."""
CLAIMS_OF_EACH = 5
SHOWN_HOST = "gpu-01-04"
DISABLED = ("a-02-05", "a-07-31", "b-03-12", "gpu-01-02")
DOWN = ("a-04-11", "b-08-10", "b-08-11")
SEED = 5
THREADS = 8
SETTLE_MS = 1500
LIVE_MS = 12_000


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0] if arguments else ROOT / ".venv" / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as state,
        deployment(
            Path(state), hosts=HOSTS, hosts_total=HOSTS_TOTAL, report_seconds=10, down_seconds=120
        ) as site,
        chromium() as browser,
    ):
        server, refused = fill(site)
        claim = fill_pools(site)
        page = Path(state, "simulation.html")
        write_simulation(page)
        for scheme in ("light", "dark"):
            tab = Tab(browser, site.url, color_scheme=scheme)
            for name, address in addresses(server, refused, claim):
                take(tab, name, address, folder / f"console-{name}-{scheme}.png", site)
            tab.page.goto(f"file://{page}")
            tab.page.wait_for_timeout(SETTLE_MS)
            tab.page.screenshot(path=folder / f"console-simulation-{scheme}.png")
            tab.close()
    return 0


def addresses(server: str, refused: str, claim: str) -> Iterator[tuple[str, str]]:
    yield "login", "/login"
    yield "fleet", "/fleet?by=key:rack&class=MEMORY_MB"
    yield "host", f"/hosts/{SHOWN_HOST}"
    yield "why", f"/why/{server}"
    yield "refused", f"/why/{refused}"
    yield "what-if", "/what-if?amounts=free&VCPU=16&MEMORY_MB=61440&DISK_GB=100&required=CUSTOM_SSD"
    yield "servers", "/servers"
    yield "server", f"/servers/{server}"
    yield "claims", "/claims"
    yield "claim", f"/claims/{claim}"
    yield "pools", "/pools"
    yield "now", "/now"


def take(tab: Tab, name: str, address: str, path: Path, site: Deployment) -> None:
    if name == "fleet":
        tab.log_in(token_of("root"))
    tab.open(address)
    if name == "now":
        tab.page.get_by_role("status").filter(has_text="live").wait_for()
        for number in range(4):
            site.create(f"fresh-{number}")
        tab.page.wait_for_timeout(LIVE_MS)
    tab.page.wait_for_timeout(SETTLE_MS)
    tab.page.screenshot(path=path)


def fill(site: Deployment) -> tuple[str, str]:
    """Put load on the hosts; return a server that runs and one that found no host."""
    root, rng = site.apis["root"], random.Random(SEED)
    group(site)
    flavors = {
        name: add_flavor(root, f"{name}-{vcpus}", vcpus, gib * 1024, disk)
        for name, (vcpus, gib, disk) in FLAVORS.items()
    }
    for number in range(REQUESTS):
        flavor = rng.choices(list(flavors.values()), [1, 3, 4, 4])[0]
        zone = rng.choices(["east", "west"], [5, 2])[0]
        ask(site, f"{rng.choice(NAMES)}-{number:02}", flavor, SERVERS_A_REQUEST, zone)
    pinned = add_flavor(root, "pinned-8", 8, 32 * 1024, 80)
    specs = {"extra_specs": {"hw:cpu_policy": "dedicated"}}
    root.post(f"/flavors/{pinned}/os-extra_specs", specs)
    ask(site, "trainer", pinned, 2, f"west:{SHOWN_HOST}")
    ask(site, "reader", flavors["medium"], 3, f"west:{SHOWN_HOST}")
    refused = site.create("training-big", flavor=site.greedy_flavor)
    server = ask(site, "solo", flavors["medium"], 1, "west")
    mark(site)
    site.wait_for_status(refused, "ERROR")
    site.wait_for_status(server, "ACTIVE")
    wait_for(lambda: not root.get("/servers", status="BUILD")["servers"], "all are built", 600)
    return server, refused


def fill_pools(site: Deployment) -> str:
    """Make pools and claims on them; return a claim that had a choice."""
    for name, (kind, totals, traits) in POOLS.items():
        site.add_pool(name, kind, totals, traits=traits)
    made = {}
    for number, (name, kind, resources, required) in itertools.product(
        range(1, CLAIMS_OF_EACH + 1), CLAIMS
    ):
        asked: dict[str, Any] = {"kind": kind, "resources": resources, "required": required}
        if number % 2:
            asked["lifetime_seconds"] = 3600 * 26 * number
        made[f"{name}-{number}"] = site.claim(f"{name}-{number}", **asked)
    return made["scratch-3"]


def ask(site: Deployment, name: str, flavor: str, count: int, zone: str) -> str:
    asked: dict[str, Any] = {
        "name": name, "flavorRef": flavor, "imageRef": site.image, "networks": "none",
        "min_count": count, "max_count": count, "availability_zone": zone,
    }  # fmt: skip
    return str(site.apis["root"].post("/servers", {"server": asked})["server"]["id"])


def group(site: Deployment) -> None:
    """Make each rack an aggregate, with its zone."""
    root = site.apis["root"]
    hosts = [name for name in root.get("/armillary/fleet")["hosts"]["name"] if name[-1].isdigit()]
    racks = itertools.groupby(sorted(hosts), lambda name: name.rpartition("-")[0])
    for rack, members in ((rack, list(found)) for rack, found in racks if rack != "mortal"):
        keys = {"rack": rack, "availability_zone": ZONES[rack.partition("-")[0]]}
        asked = {"aggregate": {"name": f"rack-{rack}"}}
        made = root.post("/os-aggregates", asked)["aggregate"]["id"]
        action = f"/os-aggregates/{made}/action"
        root.post(action, {"set_metadata": {"metadata": keys}})
        with ThreadPoolExecutor(THREADS) as pool:
            bodies = [{"add_host": {"host": host}} for host in members]
            list(pool.map(lambda body: root.post(action, body), bodies))  # noqa: B023 - in time


def mark(site: Deployment) -> None:
    """Disable some hosts, and force some down."""
    root = site.apis["root"]
    for service in root.get("/os-services", binary="armillary-compute")["services"]:
        if service["host"] in DISABLED:
            reason = "Memory module is replaced, ticket 4411"
            root.put(
                f"/os-services/{service['id']}", {"status": "disabled", "disabled_reason": reason}
            )
        elif service["host"] in DOWN:
            root.put(f"/os-services/{service['id']}", {"forced_down": True})


def write_simulation(path: Path) -> None:
    folder = ROOT / "etc" / "simulations"
    scenario = read_scenario(folder / "batch-cluster.yaml", seed=None)
    policies = read_policies([], [folder / "spread.conf", folder / "pack.conf"])
    outcomes = [simulate(scenario, policy, lambda done, counts: None) for policy in policies]
    write_html(path, scenario, outcomes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
