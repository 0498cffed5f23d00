"""The events that operators know from the field: each is told, or is not for a reason."""

import importlib
import inspect

import pytest

from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import actions, notify

OF_INSTANCES = [
    "create",
    "delete",
    "soft_delete",
    "restore",
    "power_on",
    "power_off",
    "reboot",
    "rebuild",
    "evacuate",
    "lock",
    "unlock",
    "resize",
    "resize_prep",
    "resize_finish",
    "resize_confirm",
    "resize_revert",
    "live_migration",
    "live_migration_pre",
    "live_migration_post",
    "live_migration_post_dest",
    "live_migration_rollback_dest",
    "live_migration_abort",
    "shelve",
    "shelve_offload",
    "unshelve",
]
MOMENTS = ["rebuild_scheduled"]
"""Told of instances without phases."""
OF_OTHERS = {
    "instance.update": ("rpc.notifications.notifier", '"instance.update"'),
    "scheduler.select_destinations.start": ("scheduler.manager", '"start"'),
    "scheduler.select_destinations.end": ("scheduler.manager", '"end"'),
    "compute_task.build_instances.error": (
        "conductor.super_conductor.builds.build_task",
        '"build_instances"',
    ),
    "compute_task.migrate_server.error": (
        "conductor.super_conductor.move.move_task",
        '"migrate_server"',
    ),
    "compute_task.rebuild_server.error": (
        "conductor.super_conductor.servers.rebuild_checks",
        '"rebuild_server"',
    ),
    "service.create": ("conductor.cell_conductor.hosts.host_services", '"create"'),
    "service.update": ("conductor.cell_conductor.hosts.host_services", '"update"'),
    "service.delete": ("conductor.cell_conductor.hosts.host_services", '"delete"'),
    "aggregate.create": ("conductor.super_conductor.endpoints.aggregates", '"create"'),
    "aggregate.delete": ("conductor.super_conductor.endpoints.aggregates", '"delete"'),
    "aggregate.add_host": ("conductor.super_conductor.endpoints.aggregates", '"add_host"'),
    "aggregate.cache_images.start": ("conductor.super_conductor.hosts.image_caching", '"start"'),
    "aggregate.cache_images.progress": (
        "conductor.super_conductor.hosts.image_caching",
        '"progress"',
    ),
    "aggregate.cache_images.end": ("conductor.super_conductor.hosts.image_caching", '"end"'),
    "aggregate.remove_host": ("conductor.super_conductor.endpoints.aggregates", '"remove_host"'),
    "aggregate.update_metadata": (
        "conductor.super_conductor.endpoints.aggregates",
        '"update_metadata"',
    ),
    "aggregate.update_prop": ("conductor.super_conductor.endpoints.aggregates", '"update_prop"'),
    "server_group.create": ("conductor.super_conductor.accept.server_groups", '"create"'),
    "server_group.delete": ("conductor.super_conductor.accept.server_groups", '"delete"'),
    "server_group.add_member": ("conductor.super_conductor.accept.accepted_rows", '"add_member"'),
    "metrics.update": ("compute_agent.reporting.reporter", ".metrics_update("),
    "compute.exception": ("conductor.common.cell_db.notify", ".compute_exception("),
    "virt_driver.connect.error": ("compute_agent.reporting.reporter", ".driver_lost("),
}
"""Event -> the module that tells it, and what is written there."""
NOT_TOLD = {
    "instance.live_migration_rollback": "the guest never left its source; the destination tells",
    "instance.live_migration_force_complete": "there is no such operation",
}


@pytest.mark.parametrize("name", OF_INSTANCES)
def test_an_action_of_instances_is_told_with_its_phases(name: str) -> None:
    """By the words that operators know; steps and actions share one way."""
    flows = {notify.NOTIFICATION_NAMES.get(operation, operation) for operation in FLOWS}
    others = {actions.CREATE, "delete", "lock", "unlock", notify.ABORT}
    assert name in {*flows, *notify.STEPS.values(), *others}


def test_a_moment_has_no_phase() -> None:
    assert set(MOMENTS) == set(notify.SCHEDULED.values())


@pytest.mark.parametrize("event", OF_OTHERS)
def test_what_is_not_an_action_has_an_emitter(event: str) -> None:
    module, text = OF_OTHERS[event]
    assert text in inspect.getsource(importlib.import_module(module))


@pytest.mark.parametrize("event", NOT_TOLD)
def test_what_is_not_told_is_not_half_there(event: str) -> None:
    """A change that makes one of these possible takes it out of the list, and sends it."""
    word = event.partition(".")[2]
    known = {*notify.NOTIFICATION_NAMES.values(), *notify.STEPS.values(), *FLOWS}
    aggregates = importlib.import_module("conductor.super_conductor.endpoints.aggregates")
    assert word not in known
    assert word not in inspect.getsource(aggregates)
