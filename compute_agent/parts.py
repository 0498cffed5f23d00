"""The parts of an agent, and how they are wired: what works on instances, compares, and reports."""

import functools
from collections.abc import Callable, Sequence

from armillary.concurrency import WorkerPool
from compute_agent.environment import Environment
from compute_agent.host.allocation_ratios import AllocationRatios
from compute_agent.host.claims import Claims
from compute_agent.host.node_identity import NodeIdentity
from compute_agent.host.provider_config import ProviderConfig
from compute_agent.host.resource_tracker import ResourceTracker
from compute_agent.journal.held_guests import HeldGuests
from compute_agent.journal.journal import Journal, State
from compute_agent.monitors import HostMonitors, MonitorPlugin
from compute_agent.reporting.outbox import SENDERS, OnStale, Outbox
from compute_agent.reporting.reconcile import Reconciler
from compute_agent.reporting.staleness_check import ConductorLease, StalenessCheck
from compute_agent.virt.image_service import ImageService
from compute_agent.work.command_execution import CommandExecution
from compute_agent.work.guest_lease import GuestLease
from compute_agent.work.guest_resume import GuestResume
from compute_agent.work.image_fetches import ImageFetcher
from compute_agent.work.image_tickets import ImageTickets
from compute_agent.work.instance_work import InstanceWork
from compute_agent.work.power_reports import PowerReports
from compute_agent.work.work_queue import WorkQueue


class Work:
    """What works on instances: builds, commands, their claims and reports, images, guests to start.

    ``on_change`` gets a host whose figures changed, ``on_doubt`` (host, instance UUID) to compare
    with the conductor's records. ``is_compared``: whether all were compared after the start.
    """

    def __init__(
        self,
        env: Environment,
        identity: NodeIdentity,
        conductor_lease: ConductorLease,
        ratios: AllocationRatios,
        *,
        on_change: Callable[[str], None],
        on_doubt: Callable[[str, str], None],
        on_stale: OnStale,
        is_compared: Callable[[], bool],
    ) -> None:
        tickets = ImageTickets(env.agent, env.conductor)
        image_services = {
            host: ImageService(
                env.conf,
                tickets.of_host(host),
                is_needed=functools.partial(_is_needed, env.journal, host),
            )
            for host in env.drivers
        }
        for host, driver in env.drivers.items():
            driver.use_image_service(image_services[host])
        self.queue = _queue(env)
        self.outbox = _outbox(env, on_stale)
        self.images = ImageFetcher(env.agent, env.drivers, tickets, on_change)
        self.guest_resume = GuestResume(env, queue=self.queue, is_compared=is_compared)
        claims = Claims(env, ratios=ratios, node_uuid=identity.node_uuid)
        staleness_check = StalenessCheck(env, conductor_lease)
        self.instances = InstanceWork(
            env,
            claims=claims,
            queue=self.queue,
            outbox=self.outbox,
            staleness_check=staleness_check,
            on_change=on_change,
            on_doubt=on_doubt,
            is_compared=is_compared,
        )
        self.power_reports = PowerReports(
            env,
            queue=self.queue,
            outbox=self.outbox,
            on_change=on_change,
            on_doubt=on_doubt,
            is_starting=self.guest_resume.is_waiting,
        )
        self.commands = CommandExecution(
            env,
            image_services=image_services,
            claims=claims,
            queue=self.queue,
            outbox=self.outbox,
            staleness_check=staleness_check,
            on_change=on_change,
            on_unwanted=on_doubt,
            on_fault=self.power_reports.doubt,
        )


def make_guest_lease(
    env: Environment,
    conductor_lease: ConductorLease,
    reconciler: Reconciler,
    on_settled: Callable[[], None],
) -> GuestLease:
    """Return what holds the guests while the cell may have given up their hosts."""
    return GuestLease(
        env,
        conductor_lease=conductor_lease,
        held=HeldGuests(env.journal),
        is_settled=reconciler.is_settled,
        is_corrected=reconciler.is_corrected,
        list_doubts=reconciler.list_doubts,
        request_settlement=reconciler.request,
        on_settled=on_settled,
    )


def make_trackers(
    env: Environment,
    identity: NodeIdentity,
    ratios: AllocationRatios,
    plugins: Sequence[MonitorPlugin],
    provider_config: ProviderConfig,
) -> Sequence[ResourceTracker]:
    """Return the tracker of each host's resources."""
    return [
        ResourceTracker(
            env.conf,
            driver=driver,
            journal=env.journal,
            ratios=ratios,
            monitors=HostMonitors(env.conf, plugins, driver),
            node_uuid=identity.node_uuid(host),
            provider_config=provider_config,
        )
        for host, driver in env.drivers.items()
    ]


def _is_needed(journal: Journal, host: str, uuid: str) -> bool:
    """Return whether an instance needs its image, as it does until it is deleted."""
    entry = journal.find(host, uuid)
    return entry is None or entry.state is not State.DELETING


def _queue(env: Environment) -> WorkQueue:
    conf = env.conf
    return WorkQueue(
        size=conf.compute.worker_threads,
        name=env.agent,
        builds_per_host_max=lambda: conf.max_concurrent_builds,
        copies_per_host_max=lambda: conf.max_concurrent_live_migrations,
        snapshots_per_host_max=lambda: conf.max_concurrent_snapshots,
    )


def _outbox(env: Environment, on_stale: OnStale) -> Outbox:
    senders = WorkerPool(SENDERS, f"{env.agent}-outbox", queue_size_max=SENDERS)
    return Outbox(env, senders=senders, on_stale=on_stale)
