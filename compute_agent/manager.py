"""The compute agent: wires its parts, starts and stops them, and has their periodic tasks."""

import dataclasses
import logging
import time
from collections.abc import Sequence
from pathlib import Path

from oslo_config import cfg

from armillary import exception
from armillary.concurrency.periodic import PeriodicTask
from compute_agent import parts
from compute_agent.consoles.console_port import ConsolePort
from compute_agent.endpoint import ComputeEndpoint
from compute_agent.environment import Environment
from compute_agent.host import collectors
from compute_agent.host.allocation_ratios import AllocationRatios
from compute_agent.host.host_topology import misplaced
from compute_agent.host.node_identity import NodeIdentity
from compute_agent.host.provider_config import ProviderConfig
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.interface import ComputeAPI
from compute_agent.journal.journal import Journal, Kind, Report
from compute_agent.journal.run_log import RunLog
from compute_agent.monitors import load_plugins
from compute_agent.parts import Work
from compute_agent.reporting.address_reports import AddressReports
from compute_agent.reporting.admission import Admission, AdmittedServer
from compute_agent.reporting.reconcile import Reconciler
from compute_agent.reporting.reporter import Reporter
from compute_agent.reporting.staleness_check import ConductorLease
from compute_agent.virt.driver import ComputeDriver, Feature, SerialStream
from conductor.cell_conductor.interface import CellConductorAPI
from objects.hosts.agent_run import AgentRun
from rpc.notifications import SILENT, Notifier
from rpc.transport import Bus
from rpc.version_caps import ConfiguredCap, OldestServices

LOG = logging.getLogger(__name__)

RESUME_INTERVAL_SECONDS = 10.0
RESUME_GUESTS_SECONDS = 1.0
ADDRESSES_SECONDS = 10.0
PRUNE_INTERVAL_SECONDS = 3600.0
IMAGE_CACHE_SECONDS = 2400
"""``[image_cache] manager_interval`` of 0."""
NAMED_MAX = 10
"""Maximum number of instances listed in a warning."""
TALK_STOP_SECONDS_MAX = 2.0
"""Maximum seconds to wait at shutdown for pending calls; they are repeated after the restart."""


class ComputeManager:
    """One agent and the hosts that it manages, with one driver each.

    ``cell_bus`` must not be shared: objects that arrive on it are bound to the conductor under this
    agent's name. The journal's directory is the state directory. Each agent needs its own journal;
    hosts of one machine may share the state directory.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        *,
        cell_bus: Bus,
        agent: str,
        drivers: Sequence[ComputeDriver],
        journal_path: str | Path,
        notifier: Notifier = SILENT,
    ) -> None:
        self._conf = conf
        self._notifier = notifier
        self._bus = cell_bus
        self._agent = agent
        self._drivers = {driver.host: driver for driver in drivers}
        if len(self._drivers) != len(drivers):
            raise exception.ConfigurationError(reason="two hosts of this agent have the same name")
        self._journal = Journal(journal_path)
        self._runs = RunLog(self._journal, Path(journal_path))
        self._identity = NodeIdentity(Path(journal_path).parent, conf.host)
        self._admission = Admission(agent, self._note_admission)
        self._oldest = OldestServices()
        self._conductor = self._conductor_api(conf.rpc.response_timeout_seconds)
        cell_bus.serializer.backport_with(self._conductor)
        self._env = Environment(
            conf, agent, self._drivers, self._journal, self._conductor, self._admission.is_admitted
        )
        self._ratios = AllocationRatios(conf)
        self._monitor_plugins = load_plugins(conf)
        self._conductor_lease = ConductorLease(conf)
        self._work = Work(
            self._env,
            self._identity,
            self._conductor_lease,
            self._ratios,
            on_change=self._touch,
            on_doubt=self._doubt,
            on_stale=self._note_stale,
            is_compared=lambda: self._reconciler.is_compared,
        )
        self._reconciler = Reconciler(
            self._env, work=self._work.instances, outbox=self._work.outbox
        )
        self._addresses = AddressReports(self._env)
        self._guest_lease = parts.make_guest_lease(
            self._env, self._conductor_lease, self._reconciler, self._note_settled
        )
        self._consoles: ConsolePort | None = None
        if conf.serial_console.enabled:
            self._consoles = ConsolePort(conf, self._open_console)
        endpoint = ComputeEndpoint(self._journal, self._drivers, self._work, self._consoles)
        self._server = AdmittedServer(lambda: cell_bus.server(ComputeAPI, agent, [endpoint]))
        self._reporter: Reporter | None = None

    # Service interface ----------------------------------------------------------------------------

    def start(self) -> None:
        """Open the journal and initialise hosts; do not wait for RPC.

        Unfinished work is resumed when the cell has admitted the agent. Raises ConfigurationError
        (including JournalCorrupt) with instructions.
        """
        provider_config = ProviderConfig.load(self._conf)
        self._journal.open()
        self._identity.load()
        for driver in self._drivers.values():
            driver.init_host(self._journal.list_instances(driver.host))
            collectors.check_driver_values(driver.host, driver.get_attributes())
            self._warn_of_misplaced(driver)
        trackers = parts.make_trackers(
            self._env, self._identity, self._ratios, self._monitor_plugins, provider_config
        )
        provider_config.check([known for tracker in trackers for known in tracker.check()])
        if self._consoles is not None:
            self._consoles.start()
        self._reporter = self._make_reporter(trackers)
        self._work.guest_resume.begin()
        self._guest_lease.start()
        self._work.outbox.start()
        self._reconciler.start()
        self._reporter.start()
        LOG.info("Agent %s started; number of hosts: %d", self._agent, len(self._drivers))

    def servers(self) -> list[AdmittedServer]:
        """Return the RPC server that receives commands under the agent's name."""
        return [self._server]

    def periodic_tasks(self) -> list[PeriodicTask]:
        """Return the periodic tasks; ``start`` starts the agent's own threads."""
        assert self._reporter is not None, "start() comes first"
        return [
            PeriodicTask(
                "heartbeat", self._conf.report_interval, self._reporter.heartbeat,
                initial_delay_seconds=0.0,
            ),
            PeriodicTask(
                "report_power_states", self._conf.compute.guest_poll_interval_seconds,
                self._work.power_reports.report,
            ),
            PeriodicTask("report_addresses", ADDRESSES_SECONDS, self._addresses.run),
            PeriodicTask("resume_work", RESUME_INTERVAL_SECONDS, self._resume),
            PeriodicTask("resume_guests", RESUME_GUESTS_SECONDS, self._work.guest_resume.run),
            PeriodicTask("prune_journal", PRUNE_INTERVAL_SECONDS, self._journal.prune),
            *self._image_tasks(),
        ]  # fmt: skip

    def _image_tasks(self) -> list[PeriodicTask]:
        seconds = self._conf.image_cache.manager_interval or IMAGE_CACHE_SECONDS
        return [] if seconds < 0 else [PeriodicTask("expire_images", seconds, self._expire_images)]

    def stop(self, grace_seconds: float) -> None:
        """Stop the agent's threads. Unfinished work resumes at the next start; guests stay."""
        deadline = time.monotonic() + grace_seconds

        def remaining() -> float:
            return max(0.0, deadline - time.monotonic())

        def soon() -> float:
            return min(remaining(), TALK_STOP_SECONDS_MAX)

        if self._consoles is not None:
            self._consoles.stop()
        self._guest_lease.stop(soon())
        self._work.images.stop(0.0)
        self._reconciler.stop(soon())
        if not self._work.queue.shutdown(remaining()):
            LOG.info("Agent %s resumes unfinished work at its next start", self._agent)
        if self._reporter is not None:
            self._reporter.stop(soon())
            self._reporter.report_end()
        self._work.outbox.stop(soon())
        self._notifier.stop(soon())
        for driver in self._drivers.values():
            driver.close()
        self._journal.close()

    def reload(self) -> None:
        """Report all hosts with the current options."""
        if self._reporter is not None:
            self._reporter.touch_all()

    # Internals ------------------------------------------------------------------------------------

    def _warn_of_misplaced(self, driver: ComputeDriver) -> None:
        uuids = misplaced(driver, self._journal.list_entries(host=driver.host))
        if uuids:
            LOG.warning(
                "Host %s no longer offers the CPUs or devices of some of its instances (%d); "
                "delete these, or restore cpu_dedicated_set and device_spec: %s",
                driver.host, len(uuids), ", ".join(uuids[:NAMED_MAX]),
            )  # fmt: skip

    def _note_stale(self, report: Report) -> None:
        """Clean up after a stale report; the reconciler finds the remains of a stale command.

        After a start the journal may come from an older copy, and its reports be older than what
        runs here: then the reconciler compares first.
        """
        if report.kind is Kind.COMMAND_ANSWERED or self._conductor_lease.is_in_doubt():
            self._doubt(report.host, report.instance_uuid)
        else:
            self._work.instances.forget_stale(report)

    def _open_console(self, host: str, instance_uuid: str) -> SerialStream:
        return self._drivers[host].open_serial_console(instance_uuid)

    def _doubt(self, host: str, uuid: str) -> None:
        self._reconciler.doubt(host, uuid)

    def _note_admission(self, is_admitted: bool) -> None:
        self._server.open(is_open=is_admitted)
        if is_admitted:
            self._work.outbox.wake()
            self._resume()

    def _note_answered(self, asked_at: float) -> None:
        self._conductor_lease.answered(asked_at)
        self._guest_lease.wake()

    def _note_settled(self) -> None:
        """Have hosts that were down counted as up immediately."""
        if self._reporter is not None and self._admission.is_admitted():
            self._reporter.heartbeat()

    def _resume(self) -> None:
        if not self._admission.is_admitted():
            return
        self._work.instances.resume()
        self._work.commands.resume()

    def _expire_images(self) -> None:
        for host, driver in self._drivers.items():
            try:
                driver.expire_images()
            except OSError as error:
                LOG.warning("Old images stay on host %s: %s", host, error)
            if Feature.IMAGE_CACHE in driver.features:
                self._touch(host)

    def _touch(self, host: str) -> None:
        if self._reporter is not None:
            self._reporter.touch(host)

    def _conductor_api(self, timeout_seconds: float) -> CellConductorAPI:
        return CellConductorAPI(
            self._bus,
            version_cap=ConfiguredCap.by_oldest(self._conf, "cell_conductor", self._oldest),
            timeout_seconds=min(timeout_seconds, self._conf.rpc.response_timeout_seconds),
        )

    def _begin_run(self) -> AgentRun:
        """Record this run; one of its hosts shows the identity of the state directory."""
        host = self._conf.host if self._conf.host in self._drivers else min(self._drivers)
        nodes = {host: self._identity.node_uuid(host)}
        return dataclasses.replace(self._runs.begin(), nodes=nodes)

    def _make_reporter(self, trackers: Sequence[ResourceTracker]) -> Reporter:
        return Reporter(
            self._conf,
            journal=self._journal,
            trackers=trackers,
            heartbeats=self._conductor_api(self._conf.report_interval),
            conductor=self._conductor,
            agent=self._agent,
            on_connected=self._reconciler.request,
            on_versions=self._oldest.take,
            on_answered=self._note_answered,
            is_settled=self._guest_lease.is_settled,
            admission=self._admission,
            run=self._begin_run(),
            final_heartbeats=self._conductor_api(TALK_STOP_SECONDS_MAX),
            notifier=self._notifier,
        )
