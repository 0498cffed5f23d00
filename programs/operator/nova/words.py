"""Nova's spellings of our operator commands: what its scripts and its operators type."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

POSITIONAL = ""
FLAG = False
VALUE = True


@dataclasses.dataclass(frozen=True)
class Words:
    """A command of ours, and how the arguments of Nova's become its arguments.

    ``options``: Nova's option -> ours, or an argument without one. ``ignored``: options that mean
    nothing here, and whether a value follows. ``first`` are arguments that ours has in addition.
    """

    command: str
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)
    ignored: Mapping[str, bool] = dataclasses.field(default_factory=dict)
    first: tuple[str, ...] = ()


_BY_CELL = {"--cell-uuid": "--cell"}
_THE_CELL = {"--cell-uuid": POSITIONAL}
_NO_DATABASE = {"--database-connection": VALUE}
"""A cell's database belongs to its conductor, whose configuration has the connection."""

MANAGE = {
    "api_db sync": Words("db sync", first=("api",)),
    "api_db version": Words("db version", first=("api",)),
    "cell_v2 create_cell": Words("cell create", {"--name": POSITIONAL}, _NO_DATABASE),
    "cell_v2 delete_cell": Words("cell delete", _THE_CELL),
    "cell_v2 delete_host": Words("cell delete-host", {**_BY_CELL, "--host": POSITIONAL}),
    "cell_v2 discover_hosts": Words("cell discover-hosts", _BY_CELL, {"--by-service": FLAG}),
    "cell_v2 list_cells": Words("cell list"),
    "cell_v2 list_hosts": Words("cell list-hosts", _BY_CELL),
    "cell_v2 map_cell0": Words("db sync", {}, _NO_DATABASE, first=("cell0",)),
    "cell_v2 map_cell_and_hosts": Words("cell simple-setup"),
    "cell_v2 map_instances": Words(
        "cell map-instances", _THE_CELL, {"--max-count": VALUE, "--reset": FLAG}
    ),
    "cell_v2 simple_cell_setup": Words("cell simple-setup"),
    "cell_v2 update_cell": Words("cell update", _THE_CELL, _NO_DATABASE),
    "cell_v2 verify_instance": Words("cell verify-instance", {"--uuid": POSITIONAL}),
    "db archive_deleted_rows": Words("db archive", {}, {"--task-log": FLAG}),
    "db online_data_migrations": Words("db online-data-migrations"),
    "placement heal_allocations": Words(
        "placement heal-allocations", {}, {"--skip-port-allocations": FLAG, "--force": FLAG}
    ),
    "placement sync_aggregates": Words("placement sync-aggregates"),
}
STATUS = {"upgrade check": Words("upgrade-check")}


GENERAL = {"--quiet": 0, "--verbose": 2}
"""Options that may also follow a command, as Nova's do -> the level of output."""


def level_of(argv: Sequence[str], present: int) -> int:
    """Return the level of output that a command line asks for, or else the current one."""
    return next((level for option, level in GENERAL.items() if option in argv), present)


def translated(argv: Sequence[str], table: Mapping[str, Words]) -> list[str]:
    """Return a command line in our words. Options may be written with underscores."""
    count = len(list(itertools.takewhile(lambda word: not word.startswith("-"), argv)))
    named = (" ".join(argv[:length]) for length in range(count, 0, -1))
    name = next((words for words in named if words in table), None)
    if name is None:
        return list(_arguments(argv, Words("")))
    words = table[name]
    rest = argv[len(name.split()) :]
    return [*words.command.split(), *words.first, *_arguments(rest, words)]


def _arguments(argv: Sequence[str], words: Words) -> list[str]:
    found = []
    given = iter(argv)
    for word in given:
        option, sign, value = word.partition("=")
        if not option.startswith("--"):
            found.append(word)
            continue
        option = option.replace("_", "-")
        if option in GENERAL:
            continue
        if option in words.ignored:
            if words.ignored[option] is VALUE and not sign:
                next(given, None)
            continue
        ours = words.options.get(option, option)
        if sign:
            found.append(f"{ours}={value}" if ours else value)
        elif ours:
            found.append(ours)
    return found
