"""No role may call more than its programs do: what a stolen key opens is what the role needs."""

import functools
import inspect
import re
from pathlib import Path

import pytest

from rpc.interface import Interface, Method
from tests.fixtures.messages.interfaces import BY_TOPIC

ROOT = Path(__file__).parents[3]
FOLDERS = {
    "api": ("api", "armillary/http", "programs"),
    "cell_conductor": ("conductor/cell_conductor", "conductor/common"),
    "child_zone": ("conductor", "scheduler"),
    "compute": ("compute_agent",),
    # With [scheduler] in_process, a super conductor decides itself.
    "conductor": ("conductor/super_conductor", "conductor/common", "programs", "scheduler"),
    "operator": ("programs", "conductor/super_conductor/hosts", "conductor/super_conductor/repair"),
    "parent_zone": ("conductor/super_conductor", "scheduler"),
    "placement": ("placement", "programs"),
    "scheduler": ("scheduler", "programs"),
}
"""Role -> where the code is that its programs run, as far as it calls others."""
IS_DECLARATION = re.compile(r"interface\.py$|/declarations/").search
OF_EVERY_PROGRAM = {"object_backport_versions"}
"""Called by what reads objects, in the process of any role."""
CASES = [
    (interface, method, role)
    for interface in BY_TOPIC.values()
    for method in interface.METHODS.values()
    for role in sorted({caller.role for caller in method.callers})
    if method.name not in OF_EVERY_PROGRAM
]


@functools.cache
def code_of(role: str) -> str:
    """Return the code of a role's programs, without declarations."""
    found = [path for folder in FOLDERS[role] for path in (ROOT / folder).rglob("*.py")]
    assert found
    return "\n".join(path.read_text() for path in found if not IS_DECLARATION(path.as_posix()))


def names_of(interface: type[Interface], method: Method) -> set[str]:
    """Return the name of a method, and those of helpers in its declaration that call it."""
    own = {name: each for name, each in vars(interface).items() if inspect.isfunction(each)}
    helpers = {
        name for name, each in own.items()
        if name not in interface.METHODS and f"self.{method.name}(" in inspect.getsource(each)
    }  # fmt: skip
    return {method.name, *helpers}


@pytest.mark.parametrize(
    ("interface", "method", "role"), CASES,
    ids=lambda each: getattr(each, "TOPIC", getattr(each, "name", each)),
)  # fmt: skip
def test_each_role_calls_what_it_may_call(
    interface: type[Interface], method: Method, role: str
) -> None:
    """Else take the role out of the declaration: its key would open more than it has to."""
    names = "|".join(names_of(interface, method))
    assert re.search(rf"""\.({names})\b|["']({names})["']""", code_of(role))
