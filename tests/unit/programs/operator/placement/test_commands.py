"""Common parts of the ``armillary-manage placement`` commands: broker, terminals, codes."""

import io
import uuid
from pathlib import Path

import pytest
from oslo_config import cfg

from armillary import conf
from armillary.context import RequestContext
from conductor.super_conductor.interface import SuperConductorAPI
from conductor.super_conductor.repair.allocation_audit import AuditResult
from conductor.super_conductor.repair.heal_allocations import HealResult
from objects.aggregate import Aggregate
from programs import manage
from programs.bus_factory import bus_maker
from programs.operator.placement.audit import audit_code
from programs.operator.placement.heal_allocations import heal_code
from programs.operator.placement.sync_aggregates import SyncResult, sync_code
from rpc.signing.place import TOP
from tests import builders
from tests.fixtures.messages.interfaces import an_rpc_server
from tests.fixtures.placement import placement_template, placement_url
from tests.fixtures.placement.placement_repair import Cloud, RunPlacement, cloud, run_placement
from tests.unit.programs.operator.conftest import Run

__all__ = ["cloud", "placement_template", "placement_url", "run_placement"]


class Conductor:
    """Answers on a broker that there are no aggregates."""

    def list_aggregates(self, context: RequestContext) -> list[Aggregate]:
        assert context.is_admin
        return []


def test_services_are_asked_over_the_broker(run_manage: Run, tmp_path: Path) -> None:
    """The one of [DEFAULT] transport_url, as an administrator."""
    url = f"kombu+memory:////{uuid.uuid4()}"
    conf_file = tmp_path / "manage.conf"
    conf_file.write_text(f"[DEFAULT]\ntransport_url = {url}\nstate_path = {tmp_path}\n")
    conf.register_all(cfg.CONF)
    bus = bus_maker(cfg.CONF, "armillary-conductor")(url, TOP)
    server = an_rpc_server(bus, SuperConductorAPI, "host", Conductor())
    server.start()
    try:
        ended = run_manage("placement", "sync-aggregates", conf_file=conf_file)
    finally:
        server.stop()
        server.wait()
        bus.close()
    assert (ended.code, ended.out) == (0, "0 aggregates checked: 0 changed\n")


@pytest.mark.parametrize("command", ["audit", "heal-allocations", "sync-aggregates"])
def test_without_a_broker_it_is_a_mistake_in_the_configuration(
    run_manage: Run, command: str
) -> None:
    """One line names the option."""
    ended = run_manage("placement", command)
    assert (ended.code, "[DEFAULT] transport_url" in ended.err) == (78, True)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(
    cloud: Cloud, run_placement: RunPlacement, tmp_path: Path
) -> None:
    """Lines that are printed meanwhile take the place of the bar."""
    cloud.hold(builders.a_uuid())
    words = ["placement", "audit", "--min-age=0"]
    assert run_placement("audit", "--min-age=0")[2] == ""
    out, err = Terminal(), Terminal()
    conf_file = f"--config-file={tmp_path / 'manage.conf'}"
    assert manage.make_app(out, err).run([conf_file, *words]) == 3
    assert "consumers" in err.getvalue()
    found, total, _ = out.getvalue().split("\n")
    assert found.startswith("\r\x1b[2K")
    assert total.startswith("1 consumer checked")


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (AuditResult(), 0),
        (AuditResult(orphans=2), 3),
        (AuditResult(orphans=2, released=1), 3),
        (AuditResult(orphans=2, released=2), 4),
        (AuditResult(orphans=2, released=2, down_cells={"cell1"}), 10),
    ],
    ids=["none", "found", "some-released", "all-released", "cell-down"],
)
def test_codes_of_an_audit(result: AuditResult, code: int) -> None:
    """A cell that did not answer comes first."""
    assert audit_code(result) == code


@pytest.mark.parametrize(
    ("result", "code"),
    [
        (HealResult(), 4),
        (HealResult(healed=1), 0),
        (HealResult(healed=1, is_cut_short=True), 1),
        (HealResult(healed=1, is_cut_short=True, down_cells={"cell1"}), 10),
        (HealResult(without_node=1, down_cells={"cell1"}), 2),
        (HealResult(without_node=1, refused=1), 3),
    ],
    ids=["none", "healed", "more", "cell-down", "no-node", "refused"],
)
def test_codes_of_healing(result: HealResult, code: int) -> None:
    """The worst counts."""
    assert heal_code(result, dry_run=False) == code


def test_the_code_of_a_sync_is_the_first_that_fits() -> None:
    """What stands in the way of all comes before what is wrong with single hosts."""
    assert sync_code(SyncResult(changed=3)) == 0
    assert sync_code(SyncResult(unread=1, unknown_providers=1)) == 2
    assert sync_code(SyncResult(hosts_without_nodes=1, unknown_providers=1)) == 5
