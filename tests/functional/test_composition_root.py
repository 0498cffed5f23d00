"""Composition of the programs: everything declared or documented is there at run time.

One deployment, whose programs have configurations of their own, and one story for all of it.
"""

import contextlib
import fnmatch
import functools
import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from armillary import conf as armillary_conf
from armillary.conf import roles
from armillary.metrics import service_metrics
from rpc.interface import Interface
from tests.fixtures.asking import wait_for
from tests.functional.composed import Composed, Option, Story, composed_system

pytestmark = pytest.mark.sampled_file(every=3)

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs" / "operating" / "monitoring.md"
ROOMS = ("armillary", "api", "compute_agent", "conductor", "objects", "placement", "programs",
         "rpc", "scheduler")  # fmt: skip
LATE_SECONDS = 10

DECLARED = {
    (group, option.dest)
    for module in armillary_conf.option_modules()
    for group, options in module.OPTIONS.items()
    for option in options
}

UNREAD = {
    "DEFAULT.concurrency_backend": "read before the configuration is loaded",
    "DEFAULT.service_down_time": "compared with report_interval where the files are loaded",
    "*.workers": "read by the launcher of worker processes",
    "metrics.port": "read by the launcher of worker processes",
    "metrics.listen": "read by the launcher of worker processes",
    "tracing.*": "read by the launcher of worker processes",
    "conductor.role": "read by the program, to choose its manager",
    "signing.*": "read where messages are signed: tests/integration/trust/test_signed_messages.py",
    "api.token_file": "read with auth_strategy = token_file",
    "identity.*": "read with auth_strategy = token_file",
    "image.*": "read by uploads and new images",
    **dict.fromkeys(
        ("image_cache.*_max", "image_cache.remove_*"), "read by drivers that keep images"
    ),
    "glance.*": "read where images are a Glance's: tests/unit/api/image/test_image_source.py",
    "api.allow_network_without_authentication": "read without authentication, beyond loopback",
    "libvirt.*": "read by the driver libvirt",
    "serial_console.*": "read where it is enabled: tests/unit/compute_agent/consoles",
    "process.*": "read by the driver process",
    "compute.cpu_*_set": "read by the drivers of real machines",
    "pci.device_spec": "read by the drivers of real machines",
    "compute.stray_guest_action": "read when a guest is found that is not expected",
    "compute.packing_host_numa_cells_allocation_strategy": "read for a request of NUMA cells",
    "upgrade_levels.conductor": "read when a server has moved to another cell",
    "workarounds.disable_compute_service_check_for_ffu": "read when a service is too old",
    "claims.*": "read for claims on pools: tests/integration/test_claims.py",
    "quota.claim*": "read for claims on pools",
    "scheduler.first_sync_wait_seconds": "read for a request before the first answers of cells",
    "scheduler.pull_interval_seconds": "read with in_process",
    "scheduler.placement_aggregate_required_for_tenants": "read where tenants are kept apart",
    "trusted_computing.*": "read by the TrustedFilter",
    "filter_scheduler.image_props_weight_setting": "read if its weigher has a multiplier",
    "workarounds.disable_fallback_pcpu_query": "read for a request with dedicated CPUs",
    "audit.*": "read by programs without an API if messages are signed",
    "zones.*": "read with zone_scheduler: tests/integration/zones/test_zones.py",
    "servicegroup.*": "read with the service group driver mc, which is not configured here",
    "cell.fencing_timeout_seconds": "bounds a fencing command, which is not configured here",
    "placement.allocation_conflict_retry_count": "accepted for compatibility, without effect",
}
"""Pattern of options -> why a program of whose sample they are does not read them here."""

CALLED_INSIDE = {"forward_change": "conductor/super_conductor/zones/routes.py chooses the method"}
"""RPC method whose caller is in the package of its endpoint -> where."""

UNUSED = {"allocation_conflict_retry_count"}

STILL = {
    "rpc_refused": "counts what signatures refuse",
    "audit_lost": "counts events that the disk refuses",
    "rpc_unsigned": "counts messages without a signature where signatures are accepted",
    "zones_*": "count questions to child zones",
    "scheduler_claim_conflicts": "needs two schedulers that choose the same host",
    "scheduler_hosts_refused": "needs a cell that reports hosts of another",
    "tasks_resumed": "needs a conductor that was killed",
    "leases_taken_over": "needs a conductor that was killed",
    "leases_lost": "needs a conductor that was too slow",
    "reconciled": "needs an agent that was unreachable",
    "notifications_dropped": "needs a broker that is unreachable",
    "event_followers_dropped": "needs a client that reads too slowly",
}
"""Pattern of metrics -> why they do not move here; each has a caller all the same."""

NOT_EMITTED = {
    "virt_driver.connect.error": "needs a hypervisor that is gone",
    **dict.fromkeys(
        ("instance.delete.error", "instance.lock.error", "instance.unlock.error"),
        "cannot fail, as the manual says",
    ),
    **dict.fromkeys(
        (
            "instance.evacuate.error",
            "instance.live_migration_abort.error",
            "instance.live_migration_post.error",
            "instance.live_migration_post_dest.error",
            "instance.live_migration_rollback_dest.error",
            "instance.rebuild.error",
            "instance.resize_confirm.error",
            "instance.resize_prep.error",
            "instance.resize_revert.error",
            "instance.shelve.error",
            "instance.shelve_offload.error",
            "instance.soft_delete.error",
        ),
        "fails in a way that the story leaves to the tests of operations",
    ),
}
"""Documented event -> why it is not emitted here."""


@pytest.fixture(scope="module")
def system(tmp_path_factory) -> Iterator[Composed]:
    with composed_system(tmp_path_factory.mktemp("composed")) as composed:
        Story(composed).play()
        yield composed


def is_stated(name: str, reasons: dict[str, str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in reasons)


def sample_of(program: str) -> set[Option]:
    return {option for option in DECLARED if program in roles.readers_of(*option)}


@pytest.mark.parametrize("program", roles.PROGRAMS)
def test_a_program_reads_no_option_outside_its_sample(system: Composed, program: str) -> None:
    """An operator who sets an option in the file of its program finds it obeyed."""
    outside = system.options_read(program) & DECLARED - sample_of(program)
    assert not outside, f"enter {program} in armillary/conf/roles.py, or read it elsewhere"


@pytest.mark.parametrize("program", roles.PROGRAMS)
def test_a_program_reads_each_option_of_its_sample(system: Composed, program: str) -> None:
    """Except for those that need another deployment."""

    def unread() -> set[Option]:
        return {
            (group, name)
            for group, name in sample_of(program) - system.options_read(program)
            if not is_stated(f"{group}.{name}", UNREAD)
        }

    with contextlib.suppress(AssertionError):
        wait_for(lambda: not unread(), "all are read", LATE_SECONDS)
    assert unread() == set()


def test_no_option_is_only_declared() -> None:
    """Those that are not read here have a reader, too."""
    words = {word for text in sources().values() for word in re.findall(r"\w+", text)}
    names = {name for group, name in DECLARED if is_stated(f"{group}.{name}", UNREAD)}
    assert names - words == UNUSED


@pytest.mark.parametrize("metric", service_metrics.ALL, ids=lambda metric: metric.name)
def test_a_metric_moves(system: Composed, metric: service_metrics.Counter) -> None:
    """What the manual lists can be seen."""
    if not is_stated(metric.name, STILL):
        moves = functools.partial(lambda name: name in system.moved(), f"armillary_{metric.name}")
        wait_for(moves, f"{metric.name} moves", LATE_SECONDS)


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, value in vars(service_metrics).items()
        if callable(value) and value.__module__ == service_metrics.__name__
        and not name.startswith("_") and not isinstance(value, type)
    ],
)  # fmt: skip
def test_what_records_a_metric_has_a_caller(name: str) -> None:
    """Also where no story moves it."""
    assert any(
        f"service_metrics.{name}" in text
        for path, text in sources().items()
        if path.name != "service_metrics.py"
    )


@pytest.mark.parametrize(
    "name", [name for name, value in vars(service_metrics).items() if value in service_metrics.ALL]
)
def test_a_metric_is_recorded_where_it_is_declared_or_elsewhere(name: str) -> None:
    """Also one that no story moves."""
    assert len(re.findall(rf"\b{name}\b", "\n".join(sources().values()))) > 1


def documented_events() -> set[str]:
    """Return the events of the manual's table, each written out."""
    found = set()
    section = MANUAL.read_text().partition("## Notifications")[2].partition("## Events")[0]
    for row in re.findall(r"^\| (`.*?) \| (.*?) \|", section, re.MULTILINE):
        event = ""
        words = max(re.findall(r"\w+(?:, \w+)+", row[1]), key=len, default="").split(", ")
        for name in re.findall(r"`([^`]+)`", row[0]):
            event = event.rpartition(".")[0] + name if name.startswith(".") else name
            found |= {re.sub(r"<\w+>", word, event) for word in words}
    return found


def test_each_documented_notification_is_emitted(system: Composed) -> None:
    """Over the message bus, to a listener of oslo.messaging."""

    def missing() -> set[str]:
        lacking = documented_events() - system.notified.types
        return lacking - set(NOT_EMITTED)

    assert len(documented_events()) > 90
    with contextlib.suppress(AssertionError):
        wait_for(lambda: not missing(), "all are emitted", LATE_SECONDS)
    assert missing() == set()


def test_no_other_notification_is_emitted(system: Composed) -> None:
    """An event that consumers may meet is in the manual."""
    assert system.notified.types - documented_events() == set()


@functools.cache
def sources() -> dict[Path, str]:
    """Return the product's modules, other than declarations of options."""
    paths = [path for room in ROOMS for path in (ROOT / room).rglob("*.py")]
    declaring = ROOT / "armillary" / "conf"
    return {
        path: path.read_text()
        for path in paths
        if path.parent != declaring or path.name == "loader.py"
    }


def interfaces() -> list[Path]:
    return [path for path in sources() if path.name == "interface.py" and declared(path)]


def declared(path: Path) -> set[str]:
    """Return the RPC methods that a module declares."""
    module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    classes = [each for each in vars(module).values() if inspect.isclass(each)]
    ours = [each for each in classes if each.__module__ == module.__name__]
    return {name for each in ours if issubclass(each, Interface) for name in each.METHODS}


@functools.cache
def attributes(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r"\.([A-Za-z_]\w*)", sources()[path]))


@pytest.mark.parametrize("path", interfaces(), ids=lambda path: str(path.parent.relative_to(ROOT)))
def test_each_rpc_method_has_a_caller(path: Path) -> None:
    """In its own module or outside the package, whose endpoint has the same name."""
    called: set[str] = set()
    for caller in sources():
        if caller == path or path.parent not in caller.parents:
            called |= attributes(caller)
    assert declared(path) - called - {*CALLED_INSIDE} == set()
