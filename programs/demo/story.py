"""Steps of the demo; each is shown and its outcome is checked."""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from armillary import exception
from armillary.table_columns import printable
from programs.access import own_token
from programs.commands import wait
from programs.commands.app import URL_VARIABLE
from programs.demo import fleet, workloads
from programs.demo.control_plane import ControlPlane, expect
from programs.demo.screen import CommandLine, Screen
from programs.http_client import ApiClient, Document

START_SECONDS_MAX = 180.0
HOSTS_SECONDS_MAX = 120.0
SERVERS_SECONDS_MAX = 180
STOP_SECONDS_MAX = 60.0
LOOK_SECONDS = 0.2
SETTLE_SECONDS = 0.5  # hosts reach the scheduler a moment after the API shows them

WORKER = "worker"
WEB = "web"
COLOSSUS = "colossus"
PROGRAM_IMAGE = "clock"
SIMULATED_IMAGE = "nothing"


@dataclass
class Story:
    """One run of the demo on a control plane of its own."""

    plane: ControlPlane
    screen: Screen
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    mark: str = field(default_factory=lambda: f"armillary-demo-{uuid.uuid4().hex[:8]}")
    api: ApiClient | None = None

    def tell(self) -> None:
        """Run all steps. Raises ``DemoFailed`` or an error of the API."""
        started = self.clock()
        api = self._start()
        armillary = CommandLine(api.url, self.screen)
        self._prepare(armillary)
        servers = self._build(armillary)
        again = self._show_places(api, servers)
        self._show_processes()
        self._ask_too_much(armillary)
        self._delete(armillary, servers)
        self.end()
        self.screen.heading("Done")
        self.screen.say(
            f"{len(servers)} instances were built, {again} of them at a second attempt or later; "
            f"one was refused with its reason; nothing is left. {self.clock() - started:.1f} s."
        )
        self.screen.say("To run a control plane of your own: armillary up")

    def _start(self) -> ApiClient:
        self.screen.heading("A whole control plane in one process")
        self.screen.command(self.plane.arguments)
        started = self.clock()
        with self.screen.waiting("Starting"):
            self.plane.start()
            url = self.plane.wait_for_url(START_SECONDS_MAX)
        self.api = ApiClient(url, own_token.find(url))
        with self.screen.waiting(f"Waiting for {fleet.HOSTS_TOTAL} hosts") as say:
            hosts = self._wait_for_hosts(self.api, say)
            self.sleep(SETTLE_SECONDS)
        seconds = self.clock() - started
        self.screen.say(f"Up after {seconds:.1f} s. To look at it from a second terminal:")
        self.screen.typed(f"export {URL_VARIABLE}={url}")
        link = self.api.post("armillary", "console-links", body={})["link"]
        self.screen.say("Or in a browser, by this link, which works once:")
        self.screen.say(f"{url}{link}")
        self.screen.heading(f"{len(hosts)} hosts: this machine, and simulated ones of all sizes")
        self._show_hosts(hosts)
        return self.api

    def _wait_for_hosts(self, api: ApiClient, say: Callable[[str], None]) -> list[Document]:
        deadline = self.clock() + HOSTS_SECONDS_MAX
        while True:
            hosts = _hosts_in_use(api)
            if len(hosts) == fleet.HOSTS_TOTAL:
                return hosts
            self.plane.require_running()
            expect(
                self.clock() < deadline,
                f"{len(hosts)} of {fleet.HOSTS_TOTAL} hosts are up after {HOSTS_SECONDS_MAX:g} s",
            )
            say(f"{len(hosts)} of {fleet.HOSTS_TOTAL} hosts are up")
            self.sleep(LOOK_SECONDS)

    def _show_hosts(self, hosts: list[Document]) -> None:
        real = next(host for host in hosts if host["hypervisor_type"] == fleet.PROCESS)
        rows = [
            _host_row(real["service"]["host"], 1, real, "this machine: real processes"),
            *(
                _host_row(
                    kind.names,
                    kind.count,
                    next(host for host in hosts if _is_of(host, kind)),
                    "simulated; all builds fail here" if kind is fleet.FAILING else "simulated",
                )
                for kind in fleet.FLEET
            ),
        ]
        self.screen.table(("Host", "Number", "VCPUs", "RAM MiB", "Disk GiB", ""), rows)

    def _prepare(self, armillary: CommandLine) -> None:
        self.screen.heading("Flavors define the size of an instance, images what it runs")
        for flavor in fleet.FLAVORS:
            armillary.run(
                "flavor", "create", flavor.name, "--vcpus", str(flavor.vcpus),
                "--ram", str(flavor.memory_mb), "--disk", str(flavor.disk_gb),
            )  # fmt: skip
        command = workloads.command_line(self.mark)
        shown = f'armillary image create {PROGRAM_IMAGE} --command "{command}"'
        armillary.run("image", "create", PROGRAM_IMAGE, "--command", command, shown=shown)
        simulated = f"img_hv_type={fleet.SIMULATED}"
        armillary.run("image", "create", SIMULATED_IMAGE, "--property", simulated)

    def _build(self, armillary: CommandLine) -> list[Document]:
        self.screen.heading(f"{fleet.REAL_COUNT} real workloads on this machine")
        real = self._create(armillary, WORKER, PROGRAM_IMAGE, fleet.TINY, fleet.REAL_COUNT)
        self.screen.heading(f"{fleet.SIMULATED_COUNT} simulated instances in one request")
        count = fleet.SIMULATED_COUNT
        simulated = self._create(armillary, WEB, SIMULATED_IMAGE, fleet.MEDIUM, count)
        return [*real, *simulated]

    def _create(
        self, armillary: CommandLine, name: str, image: str, flavor: fleet.Flavor, count: int
    ) -> list[Document]:
        servers: list[Document] = armillary.ask(
            "server", "create", name, "--flavor", flavor.name, "--image", image,
            "--min", str(count), "--max", str(count),
            "--wait", "--timeout", str(SERVERS_SECONDS_MAX),
        )  # fmt: skip
        active = [server for server in servers if server["Status"] == "ACTIVE"]
        expect(len(active) == count, f"{len(active)} of {count} instances are ACTIVE")
        hosts = len({server["Host"] for server in servers})
        self.screen.say(f"{count} ACTIVE on {hosts} host{'s' if hosts > 1 else ''}")
        return servers

    def _show_places(self, api: ApiClient, servers: list[Document]) -> int:
        """Show the host of each instance and why; return how many needed more than one attempt."""
        self.screen.heading("Where each instance is, and why (armillary explain NAME shows more)")
        rows = []
        for server in servers:
            explanation = _explain(api, server["ID"])
            why = reason(explanation)
            rows.append((server["Name"], server["Host"], str(server["Attempt"]), why))
        self.screen.table(("Instance", "Host", "Attempt", "Why there"), rows)
        again = sum(server["Attempt"] > 1 for server in servers)
        expect(again > 0, f"no build was retried, although all builds fail on {fleet.FAILING_HOST}")
        on_failing = [server for server in servers if server["Host"] == fleet.FAILING_HOST]
        expect(not on_failing, f"{len(on_failing)} instances run on {fleet.FAILING_HOST}")
        return again

    def _show_processes(self) -> None:
        self.screen.heading("The real workloads, as this machine sees them")
        found = workloads.find(self.mark)
        rows = [(str(one.pid), one.memory_limit, one.cpu_limit, one.command) for one in found]
        self.screen.table(("PID", "Memory limit", "CPU limit", "Command"), rows)
        count = fleet.REAL_COUNT
        expect(len(found) == count, f"{len(found)} of {count} processes run on this machine")

    def _ask_too_much(self, armillary: CommandLine) -> None:
        self.screen.heading("An instance that fits nowhere")
        armillary.run(
            "server", "create", COLOSSUS, "--flavor", fleet.COLOSSAL.name,
            "--image", SIMULATED_IMAGE, "--wait",
            exit_code=1,
        )  # fmt: skip
        explanation: Document = armillary.ask("explain", COLOSSUS)
        sentence = why_nowhere(explanation)
        expect(bool(sentence), f"no reason is given why {COLOSSUS} fits nowhere")
        self.screen.say(f"Why: {sentence}", style="bold")

    def _delete(self, armillary: CommandLine, servers: list[Document]) -> None:
        self.screen.heading("Deleting everything")
        uuids = [server["ID"] for server in servers]
        names = (
            f"{WORKER}-{{1..{fleet.REAL_COUNT}}} {WEB}-{{1..{fleet.SIMULATED_COUNT}}} {COLOSSUS}"
        )
        shown = f"armillary server delete --wait {names}"
        armillary.run("server", "delete", "--wait", *uuids, COLOSSUS, shown=shown)
        allocations: list[Any] = armillary.ask("allocation", "list")
        expect(not allocations, f"{len(allocations)} allocations are left")
        self.screen.say("No allocation is left.")
        left = workloads.find(self.mark)
        expect(not left, f"{len(left)} processes are left")
        self.screen.say("No process is left.")

    def end(self) -> None:
        """Stop the control plane. Raises ``DemoFailed``."""
        with self.screen.waiting("Stopping"):
            code = self.plane.stop(STOP_SECONDS_MAX)
        expect(code == 0, f"armillary up ended with exit code {code}")

    def clean_up(self) -> None:
        """Stop everything that was started, however far the story got; Ctrl-C shortens it."""
        try:
            if self.api is not None:
                with suppress(exception.ArmillaryError):
                    _delete_all(self.api)
            self.plane.stop(STOP_SECONDS_MAX)
        except KeyboardInterrupt:
            self.plane.stop(0.0)
        finally:
            workloads.kill(self.mark)


def _hosts_in_use(api: ApiClient) -> list[Document]:
    hosts = api.list_all("hypervisors", "os-hypervisors", "detail")
    return [host for host in hosts if host["state"] == "up" and host["status"] == "enabled"]


def _is_of(host: Document, kind: fleet.Hosts) -> bool:
    is_simulated = host["hypervisor_type"] == fleet.SIMULATED
    return is_simulated and host["service"]["host"].startswith(f"{kind.kind}-")


def _host_row(name: str, count: int, host: Document, remark: str) -> tuple[str, ...]:
    amounts = (host["vcpus"], host["memory_mb"], host["local_gb"])
    return (name, str(count), *(f"{amount:,}" for amount in amounts), remark)


def _explain(api: ApiClient, server: str) -> Document:
    explanation: Document = api.get("armillary", "servers", server, "explain")["explanation"]
    return explanation


def _delete_all(api: ApiClient) -> None:
    servers = [server["id"] for server in api.list_all("servers", "servers")]
    for server in servers:
        api.delete("servers", server)
    wait.wait_until_gone(api, servers, wait.Pace(STOP_SECONDS_MAX), lambda done, counts: None)


SUFFIX = "Weigher"
SHOWN_FROM = 0.005


def reason(explanation: Document) -> str:
    """Return the decisive weights, and the hosts on which the build failed before."""
    host = explanation["server"]["host"]
    failed = [one["host"] for one in explanation["attempts"] if one["result"] == "Error"]
    ranked = _ranked(explanation)
    here = next((one for one in ranked if one["host"] == host), None)
    if failed:
        return f"the next best host; the build failed on: {', '.join(failed)}"
    if here is None:
        return "no longer known"
    if len(ranked) == 1:
        return "the only host that fits"
    return f"weight {_weight(here)}{_next_best(ranked, host)}"


def why_nowhere(explanation: Document) -> str:
    """Return the sentence that says why no host fits; empty if there is none."""
    return printable((explanation["trace"] or {}).get("sentence") or "")


def _ranked(explanation: Document) -> list[Document]:
    """Return the selected host and the runners-up; empty if the decision is not known."""
    choices = (explanation["trace"] or {}).get("choices") or []
    return [one for choice in choices for one in (choice, *choice["runners_up"])]


def _weight(one: Document) -> str:
    shares = [
        f"{name.removesuffix(SUFFIX)} {share['weight']:.2f}"
        for name, share in one["shares"].items()
        if abs(share["weight"]) >= SHOWN_FROM
    ]
    return f"{one['weight']:.2f} = {' + '.join(shares)}" if shares else f"{one['weight']:.2f}"


def _next_best(ranked: list[Document], host: str) -> str:
    others = [one for one in ranked if one["host"] != host]
    return f"; next {others[0]['host']} {others[0]['weight']:.2f}" if others else ""
