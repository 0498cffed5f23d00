"""Requests of users in a run: a steady mix of all operations on servers."""

import dataclasses
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import requests

from programs.http_client import VERSION_HEADERS
from tests.faults.world import FaultyDeployment

USERS = 10
PAUSE_SECONDS_MEAN = 0.3
ANSWER_SECONDS_MAX = 30
SERVERS_MAX = 40
LOOK_SECONDS = 2.0
FLAVORS = {"small": (1, 256), "medium": (2, 512), "large": (4, 1024)}
"""Name -> vCPUs, MiB."""
IMAGES = {
    "simulated": {"img_hv_type": "simulated"},
    "other-simulated": {"img_hv_type": "simulated"},
    "process": {"img_hv_type": "process", "process_command": "sleep 100000"},
}
WORKLOADS_MAX = 6
"""Servers that are processes; each is two of them."""
USUAL: dict[str, tuple[str, ...]] = {
    "ACTIVE": ("stop", "reboot", "resize", "resize", "migrate", "migrate", "live_migrate",
               "live_migrate", "shelve", "rebuild", "delete", "force_delete", "lock", "unlock"),
    "SHUTOFF": ("start", "start", "resize", "migrate", "shelve", "rebuild", "delete"),
    "VERIFY_RESIZE": ("confirm_resize", "confirm_resize", "revert_resize", "revert_resize",
                      "force_delete"),
    "SHELVED": ("shelve_offload", "unshelve", "force_delete"),
    "SHELVED_OFFLOADED": ("unshelve", "unshelve", "force_delete"),
    "SOFT_DELETED": ("restore", "restore", "force_delete"),
    "ERROR": ("force_delete", "rebuild", "stop"),
    "BUILD": ("force_delete", *["nothing"] * 5),
}  # fmt: skip
ACTIONS: dict[str, tuple[str, Any]] = {
    "start": ("os-start", None),
    "stop": ("os-stop", None),
    "migrate": ("migrate", None),
    "live_migrate": ("os-migrateLive", None),
    "evacuate": ("evacuate", None),
    "confirm_resize": ("confirmResize", None),
    "revert_resize": ("revertResize", None),
    "shelve": ("shelve", None),
    "shelve_offload": ("shelveOffload", None),
    "unshelve": ("unshelve", None),
    "restore": ("restore", None),
    "force_delete": ("forceDelete", None),
    "lock": ("lock", None),
    "unlock": ("unlock", None),
}
UNRECORDED = frozenset({"lock", "unlock"})
"""Done before they are answered; the history of a server does not tell of them."""

Server = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Accepted:
    """A request that was answered with yes."""

    operation: str
    request_id: str
    servers: tuple[str, ...]
    at: float


class Users:
    """Threads that ask until so many requests were accepted."""

    def __init__(
        self, deployment: FaultyDeployment, seed: int, operations: int, say: Callable[[str], None]
    ) -> None:
        self._deployment = deployment
        self._say = say
        self._seed = seed
        self._operations = operations
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._stopped = threading.Event()
        self._servers: list[Server] = []
        self._down: set[str] = set()
        self._looked_at = 0.0
        self._flavors: dict[str, str] = {}
        self._images: dict[str, str] = {}
        self.accepted: list[Accepted] = []
        self.refused: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        """Requests without an answer that says what became of them."""

    def prepare(self) -> None:
        """Make flavors and images, unless an earlier plan did."""
        api = self._deployment
        self._flavors = {each["name"]: each["id"] for each in api.get("/flavors")["flavors"]}
        self._images = {each["name"]: each["id"] for each in api.get("/images")["images"]}
        for name, (vcpus, ram) in FLAVORS.items():
            if name not in self._flavors:
                self._flavors[name] = api.create_flavor(name, vcpus=vcpus, ram=ram)
        for name, properties in IMAGES.items():
            if name not in self._images:
                body = {"image": {"name": name, "properties": properties}}
                self._images[name] = api.post("/images", body)["image"]["id"]

    def start(self) -> None:
        for number in range(USERS):
            thread = threading.Thread(target=self._ask_on, args=(number,), name=f"user-{number}")
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """Let nothing more be asked, and wait for the last answers."""
        self._stopped.set()
        for thread in self._threads:
            thread.join()

    @property
    def are_done(self) -> bool:
        return len(self.accepted) >= self._operations or self._stopped.is_set()

    def _ask_on(self, number: int) -> None:
        rng = random.Random(f"user/{self._seed}/{number}")
        session = requests.Session()
        session.headers.update(VERSION_HEADERS)
        while not self.are_done:
            self._stopped.wait(rng.expovariate(1 / PAUSE_SECONDS_MEAN))
            try:
                self._look(session)
                self._ask_something(session, rng)
            except (requests.RequestException, ValueError, KeyError):
                self._stopped.wait(0.5)  # the API is down; what it has not answered is not asked

    def _look(self, session: requests.Session) -> None:
        """Read the list of servers, when the last check is some time ago."""
        with self._lock:
            if time.monotonic() - self._looked_at < LOOK_SECONDS:
                return
            self._looked_at = time.monotonic()
        url = f"{self._deployment.api_url}/v2.1"
        listed = session.get(f"{url}/servers/detail?limit=500", timeout=ANSWER_SECONDS_MAX).json()
        hosts = session.get(f"{url}/os-hypervisors/detail", timeout=ANSWER_SECONDS_MAX).json()
        self._servers = [each for each in listed["servers"] if each["status"] != "UNKNOWN"]
        self._down = {
            each["service"]["host"] for each in hosts["hypervisors"] if each["state"] == "down"
        }

    def _ask_something(self, session: requests.Session, rng: random.Random) -> None:
        servers = self._servers
        if not servers or (len(servers) < SERVERS_MAX and rng.random() < 0.15):
            self._create(session, rng)
            return
        stranded = [each for each in servers if each["OS-EXT-SRV-ATTR:host"] in self._down]
        if stranded and rng.random() < 0.3:
            self._act(session, rng.choice(stranded), "evacuate", None)
            return
        server = rng.choice(servers)
        if server["OS-EXT-STS:task_state"] and rng.random() < 0.8:
            server = rng.choice(servers)
        usual = USUAL.get(server["status"], ("force_delete",))
        is_odd = rng.random() < 0.05
        operation = rng.choice(sum(USUAL.values(), ()) if is_odd else usual)
        if operation == "nothing":
            return
        if operation == "live_migrate" and self._is_workload(server):
            operation = "migrate"
        if operation == "delete":
            self._send(session, "DELETE", f"/servers/{server['id']}", None, "delete", server["id"])
            return
        self._act(session, server, operation, self._arguments(operation, server, rng))

    def _create(self, session: requests.Session, rng: random.Random) -> None:
        count = rng.choice((1, 1, 2, 3, 5))
        image = rng.choice(("simulated", "simulated", "simulated", "simulated", "process", ""))
        if image == "process":
            if sum(map(self._is_workload, self._servers)) >= WORKLOADS_MAX:
                return
            count = min(count, 2)
        flavor = rng.choice(list(FLAVORS))
        server = {
            "name": "vm", "flavorRef": self._flavors[flavor], "min_count": count,
            "max_count": count, "imageRef": self._images[image or "simulated"],
        }  # fmt: skip
        self._send(session, "POST", "/servers", {"server": server}, "create", None)

    def _is_workload(self, server: Server) -> bool:
        return bool((server.get("image") or {}).get("id") == self._images["process"])

    def _arguments(self, operation: str, server: Server, rng: random.Random) -> Any:
        if operation == "resize":
            names = [name for name in FLAVORS if name != server["flavor"]["original_name"]]
            return {"flavorRef": self._flavors[rng.choice(names)]}
        if operation == "rebuild":
            same = (server.get("image") or {}).get("id") or self._images["simulated"]
            other = self._images[rng.choice(("simulated", "other-simulated"))]
            return {"imageRef": same if self._is_workload(server) else other}
        if operation == "reboot":
            return {"type": rng.choice(("SOFT", "HARD"))}
        return None

    def _act(self, session: requests.Session, server: Server, operation: str, given: Any) -> None:
        action, nothing = ACTIONS.get(operation, (operation, None))
        path = f"/servers/{server['id']}/action"
        self._send(session, "POST", path, {action: given or nothing}, operation, server["id"])

    def _send(
        self, session: requests.Session, method: str, path: str, body: Any, operation: str,
        server: str | None,
    ) -> None:  # fmt: skip
        url = f"{self._deployment.api_url}/v2.1{path}"
        try:
            answer = session.request(method, url, json=body, timeout=ANSWER_SECONDS_MAX)
        except requests.RequestException as error:
            self._say(f"{operation} {server or ''}: {type(error).__name__}")
            with self._lock:
                self.unknown[operation] += 1
            raise
        request_id = answer.headers["x-openstack-request-id"]
        self._say(f"{operation} {server or ''}: {answer.status_code} {request_id}")
        with self._lock:
            if answer.ok:
                servers = (server,) if server else tuple(answer.json()["armillary:servers"])
                self.accepted.append(Accepted(operation, request_id, servers, time.time()))
            elif answer.status_code < 500:
                self.refused[f"{operation} {answer.status_code}"] += 1
            else:
                self.unknown[operation] += 1
