"""Tests of ``armillary-manage host``: the key of hosts' opaque ids is replaced."""

from typing import cast

from api.formats.host_ids import KEY_SECONDS, HostIds
from armillary.context import admin_context
from armillary.db import Database
from conductor.super_conductor.hosts.host_id_key import HostIdKey
from conductor.super_conductor.interface import SuperConductorAPI
from tests.fixtures.cell import Clock
from tests.unit.programs.operator.conftest import Run


def test_a_replaced_key_gives_every_host_another_id(
    run_manage: Run, api_database: Database
) -> None:
    """In each API process within a minute, without a restart; both agree before and after."""
    clock, conductor = Clock(), cast("SuperConductorAPI", HostIdKey(api_database))
    one, other = HostIds(conductor, clock), HostIds(conductor, clock)
    before = one.of(admin_context(), "p1", "host1")
    assert other.of(admin_context(), "p1", "host1") == before
    assert run_manage("host", "rotate-id-key").code == 0
    clock.advance(KEY_SECONDS)
    after = one.of(admin_context(), "p1", "host1")
    assert after != before
    assert other.of(admin_context(), "p1", "host1") == after


def test_a_key_is_replaced_before_there_was_one(run_manage: Run, api_database: Database) -> None:
    """An operator may do it first of all."""
    assert run_manage("host", "rotate-id-key").code == 0
    assert HostIdKey(api_database).get_host_id_key(admin_context())
