"""Records of services without hosts: heartbeats, the oldest version, versions too old."""

from typing import Any

import pytest

from armillary import exception
from armillary.conf import register
from armillary.conf.scheduling import workarounds
from armillary.context import admin_context
from armillary.service_history import COMPUTE, CONDUCTOR, CURRENT_VERSION, SCHEDULER
from conductor.common.cell_db import models, service_figures, services
from conductor.common.clock import moment
from conductor.common.service_records import IN_CELL, ServiceRecords
from objects.hosts.host_answers import ServiceChanges
from tests.fixtures.cell import CELL_UUID, Cell
from tests.fixtures.control_plane import ControlPlane


def in_cell(cell: Cell, **values: Any) -> ServiceRecords:
    return ServiceRecords(
        cell.conf, database=cell.database, interfaces=IN_CELL, now=cell.clock, cell_uuid=CELL_UUID,
        **values,
    )  # fmt: skip


def test_a_sign_of_life_makes_one_record_and_renews_it(plane: ControlPlane) -> None:
    """It is up until it falls silent."""
    plane.records.record_heartbeat("top-1", SCHEDULER, 3)
    plane.clock.advance(10)
    plane.records.record_heartbeat("top-1", SCHEDULER, 4)
    (record,) = plane.records.list_all()
    assert (record.host, record.binary, record.version) == ("top-1", SCHEDULER, 4)
    assert (record.up, record.report_count) == (True, 2)
    plane.clock.advance(plane.conf.service_down_time + 1)
    assert not plane.records.list_all()[0].up


def test_a_conductor_notes_itself(plane: ControlPlane) -> None:
    """Under its host's name, with the version of this release."""
    plane.records.record_own_heartbeat()
    (record,) = plane.records.list_all()
    assert (record.host, record.version) == (plane.conf.host, CURRENT_VERSION)
    assert plane.records.oldest() == {"conductor": CURRENT_VERSION}


def test_the_oldest_of_each_interface_counts_while_it_lives(plane: ControlPlane) -> None:
    """One that is gone keeps no other back."""
    plane.records.record_heartbeat("a", SCHEDULER, 2)
    plane.clock.advance(plane.conf.service_down_time - 1)
    plane.records.record_heartbeat("b", SCHEDULER, 3)
    assert plane.records.oldest() == {"scheduler": 2}
    plane.clock.advance(2)
    assert plane.records.oldest() == {"scheduler": 3}


def test_an_agent_that_is_down_counts(cell: Cell) -> None:
    """It comes back as it was."""
    cell.add_agent("a")
    cell.add_agent("b").version = CURRENT_VERSION + 1
    cell.agents["b"].heartbeat()
    cell.silence("a")
    assert in_cell(cell).oldest() == {"compute": CURRENT_VERSION}


def test_what_was_said_lately_is_said_again(plane: ControlPlane) -> None:
    """For a few seconds: it is asked with every sign of life."""
    plane.records.record_heartbeat("a", SCHEDULER, 2)
    assert plane.records.get_oldest_services(admin_context()) == {"scheduler": 2}
    plane.records.record_heartbeat("a", SCHEDULER, 3)
    assert plane.records.get_oldest_services(admin_context()) == {"scheduler": 2}
    plane.clock.advance(5)
    assert plane.records.get_oldest_services(admin_context()) == {"scheduler": 3}


def test_no_record_is_kept_of_what_is_no_such_service(plane: ControlPlane) -> None:
    """Agents report their hosts to their cell."""
    for binary in (COMPUTE, "armillary-nothing"):
        with pytest.raises(exception.Invalid, match=binary):
            plane.records.record_heartbeat("a", binary, 3)
    assert plane.records.list_all() == []


def test_who_is_too_old_is_refused(cell: Cell) -> None:
    """A report of it stores nothing; the error says what is the oldest that may."""
    with pytest.raises(exception.ServiceTooOld, match=r"agent-1 has service version 0.*is 1"):
        cell.services.report("agent-1", ["a"], {}, version=0)
    records = in_cell(cell, oldest_supported=3)
    with pytest.raises(exception.ServiceTooOld):
        records.record_heartbeat("c", CONDUCTOR, 2)
    assert cell.services.list_services(admin_context()) == []


def test_a_conductor_does_not_start_beside_who_is_too_old(cell: Cell) -> None:
    """All of them are named, with what to do; a workaround makes it a warning."""
    register(cell.conf, workarounds)
    cell.add_agent("a")
    cell.services.report("a", ["a"], {}, version=2)
    in_cell(cell, oldest_supported=2).check_supported()
    records = in_cell(cell, oldest_supported=3)
    with pytest.raises(exception.ConfigurationError, match=r"armillary-compute on a \(2\)"):
        records.check_supported()
    cell.conf.set_override("disable_compute_service_check_for_ffu", True, group="workarounds")
    records.check_supported()


def test_a_record_of_a_conductor_is_neither_disabled_nor_a_host(cell: Cell) -> None:
    """It may share its name with a host: deleting it leaves the host alone."""
    cell.add_agent("a")
    with cell.database.writer() as session:
        services.record_heartbeat(session, "a", CONDUCTOR, version=3, now=moment(cell.clock()))
    (record,) = (
        one for one in cell.services.list_services(admin_context()) if one.binary == CONDUCTOR
    )
    with pytest.raises(exception.Invalid, match="has no host"):
        cell.services.update_service(None, record.uuid, ServiceChanges(disabled=True))  # type: ignore[arg-type]
    cell.services.delete_service(None, record.uuid)  # type: ignore[arg-type]
    assert [one.binary for one in cell.services.list_services(admin_context())] == [COMPUTE]
    assert cell.placement.providers


def test_removing_one_that_is_not_there_is_an_error(plane: ControlPlane) -> None:
    """One that is there goes."""
    plane.records.record_own_heartbeat()
    (record,) = plane.records.list_all()
    plane.records.remove(record.uuid)
    with pytest.raises(exception.ServiceNotFound):
        plane.records.remove(record.uuid)


def figures_in(plane: ControlPlane) -> dict[int, dict[str, float]]:
    """Return worker -> figures, as far as they are fresh."""
    now, seconds = moment(plane.clock()), plane.conf.service_down_time
    found = plane.cell0_database.read(service_figures.list_fresh, now=now, seconds=seconds)
    return {one.worker: one.figures for one in found}


def test_each_worker_has_its_own_figures(plane: ControlPlane) -> None:
    """Its last ones, for as long as it reports."""
    for number in (0, 1):
        plane.records.record_heartbeat("top-1", SCHEDULER, 3, number, {"queue_length": number})
    plane.records.record_heartbeat("top-1", SCHEDULER, 3, 1, {"queue_length": 5, "made_up": 1})
    assert figures_in(plane) == {0: {"queue_length": 0}, 1: {"queue_length": 5}}
    plane.clock.advance(plane.conf.service_down_time + 1)
    assert figures_in(plane) == {}


def test_figures_of_workers_that_are_gone_are_removed(plane: ControlPlane) -> None:
    """Nothing is kept of a host that left."""
    plane.records.record_heartbeat("top-1", SCHEDULER, 3, 0, {"queue_length": 1})
    plane.clock.advance(100 * plane.conf.service_down_time)
    plane.records.record_own_heartbeat()
    with plane.cell0_database.reader() as session:
        assert session.query(models.ServiceFigures).all() == []


@pytest.mark.parametrize("worker", [-1, 512])
def test_a_workers_number_is_bounded(plane: ControlPlane, worker: int) -> None:
    """So is the number of rows of a service."""
    with pytest.raises(exception.Invalid):
        plane.records.record_heartbeat("top-1", SCHEDULER, 3, worker, {"queue_length": 1})
