"""Which operation begins in which state: as the Compute API of OpenStack documents it."""

import pytest

from armillary import exception
from conductor.cell_conductor.operations.flows import FLOWS
from conductor.common.cell_db import models

STATES = {
    "ACT": "active", "OFF": "stopped", "PAU": "paused", "SUS": "suspended", "RSC": "rescued",
    "RSZ": "resized", "SHE": "shelved", "OFL": "shelved_offloaded", "DEL": "soft-delete",
    "ERR": "error", "BLD": "building",
}  # fmt: skip
TABLE = """
                 ACT OFF PAU SUS RSC RSZ SHE OFL DEL ERR BLD
stop              x                                   x
start                 x
reboot            x   x   x   x                       x
pause             x
unpause                   x
suspend           x
resume                        x
rescue            x   x                               x
unrescue                          x
rebuild           x   x                               x
resize            x   x
migrate           x   x
confirm_resize                        x
revert_resize                         x
live_migrate      x       x
evacuate          x   x                               x
snapshot          x   x   x   x
backup            x   x   x   x
shelve            x   x   x   x
shelve_offload                            x
unshelve_here                             x
unshelve                                      x
soft_delete       x   x   x   x   x   x   x   x   x   x
restore                                           x
"""
"""Operations, states, and an x where one begins in the other.

A reboot of what is not active has to be a hard one. A server that is being built is deleted
immediately instead of softly. A soft-deleted one whose guest runs is turned off by another soft
delete.
"""


def read_table() -> dict[str, set[str]]:
    """Return the states in which each operation begins."""
    header, *lines = TABLE.strip("\n").splitlines()
    columns = {header.index(short) + 1: state for short, state in STATES.items()}
    return {
        line.split()[0]: {
            columns[at] for at, mark in enumerate(line) if mark == "x" and at in columns
        }
        for line in lines
    }


def begins(operation: str, vm_state: str, task_state: str | None = None) -> bool:
    instance = models.Instance(uuid="u", vm_state=vm_state, task_state=task_state, host="a")
    try:
        FLOWS[operation].check(instance)
    except exception.InstanceInvalidState:
        return False
    return True


ALL = pytest.mark.parametrize("operation", FLOWS)


@ALL
def test_an_operation_begins_in_the_states_of_the_table(operation: str) -> None:
    """And in no other one."""
    allowed = read_table()[operation]
    assert {state for state in STATES.values() if begins(operation, state)} == allowed


def test_the_table_has_every_operation_and_every_mark_a_state() -> None:
    table = read_table()
    assert set(table) == set(FLOWS)
    assert sum(map(len, table.values())) == TABLE.count(" x")


def test_a_refusal_names_what_users_ask_for() -> None:
    """They do not know that there are two ways to unshelve."""
    instance = models.Instance(uuid="u", vm_state="active", task_state=None, host="a")
    with pytest.raises(exception.InstanceInvalidState, match="cannot unshelve: it is active"):
        FLOWS["unshelve_here"].check(instance)


def test_a_refusal_is_in_words() -> None:
    """Of operations and of states: not the names that the code has for them."""
    instance = models.Instance(uuid="u", vm_state="error", task_state=None, host="a")
    said = "cannot confirm resize: it is in error, and must be resized"
    with pytest.raises(exception.InstanceInvalidState, match=said):
        FLOWS["confirm_resize"].check(instance)


@ALL
def test_nothing_begins_while_something_else_is_done(operation: str) -> None:
    """The refusal names what is being done."""
    assert not any(begins(operation, state, "powering-off") for state in STATES.values())
