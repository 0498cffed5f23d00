"""Translation of a nova.conf: each option is kept, renamed, dropped or left to a person."""

import dataclasses
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from importlib.metadata import entry_points

from oslo_config import cfg

from armillary import exception
from armillary.conf import loader, option_modules
from armillary.conf.former_names import RENAMED, Name
from armillary.logs.masking import mask_passwords
from compute_agent.virt.machine.device_spec import DeviceSpec
from objects.pci import pci
from programs.operator.nova import nova_files
from programs.operator.nova import options as known

ALL_FILTERS = "all_filters"
NOVA_ALL_FILTERS = frozenset(
    {"nova.scheduler.filters.all_filters", "nova.scheduler.filters.standard_filters", ALL_FILTERS}
)
NOVA = "nova."
SECRET_WORDS = ("password", "secret", "token", "hmac")
"""Parts of names of libraries' options whose values are not shown."""
ALL_WEIGHERS = "nova.scheduler.weights.all_weighers"
DRIVERS = {
    "LibvirtDriver": "libvirt",
    **dict.fromkeys(("FakeDriver", "SmallFakeDriver", "MediumFakeDriver"), "simulated"),
}
"""Last part of a class of Nova's -> our driver."""
SCHEDULERS = {
    "FilterScheduler": "filter_scheduler", "CachingScheduler": "caching_scheduler",
    "ChanceScheduler": "chance_scheduler", "FakeScheduler": "fake_scheduler",
}  # fmt: skip
DEFAULT_IMAGES = "default"
STRAY_GUESTS = {"reap": "destroy", "shutdown": "keep", "log": "keep", "noop": "keep"}
"""Value of Nova's -> ours. Who wants a guest shut down wants its disks kept."""
PLUGINS: Mapping[Name, str] = {
    ("filter_scheduler", "available_filters"): "armillary.scheduler.filters",
    ("filter_scheduler", "enabled_filters"): "armillary.scheduler.filters",
    ("filter_scheduler", "weight_classes"): "armillary.scheduler.weighers",
    ("DEFAULT", "compute_monitors"): "armillary.compute.monitors",
}
NOVA_MONITORS = "nova.compute.monitors."


class Outcome(StrEnum):
    """What became of an option."""

    KEPT = "kept"
    RENAMED = "renamed"
    DROPPED = "dropped"
    DECIDE = "decide"


@dataclasses.dataclass(frozen=True)
class Translated:
    """One option of the file, and what became of it."""

    name: Name
    outcome: Outcome
    ours: Name | None = None
    values: tuple[str, ...] = ()
    reason: str = ""
    is_secret: bool = False

    def line(self) -> str:
        """Return the line of the report; passwords are masked."""
        text = f"{self.outcome}: {_shown(self.name)}"
        if self.ours is not None and self.outcome in (Outcome.KEPT, Outcome.RENAMED):
            value = mask_passwords(", ".join(self.values))
            text += f" -> {_shown(self.ours)} = {'***' if self.is_secret else value}"
        return _one_line(f"{text}: {self.reason}" if self.reason else text)


class _Undecided(Exception):
    """A value that has no certain counterpart; the argument says why.

    ``certain`` are parts of it that do have one.
    """

    def __init__(self, reason: str, certain: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.certain = certain


class _Meaningless(Exception):
    """A value that means nothing here; the argument says why."""


def translate(sections: Mapping[str, Mapping[str, Sequence[str]]]) -> list[Translated]:
    """Return what becomes of each option, in the order of the file.

    Sections that differ in capitals are one group, names with hyphens and underscores one option.
    """
    ours = _own_options()
    given: dict[Name, list[str]] = {}
    for section, options in sections.items():
        for name, values in options.items():
            given.setdefault((_group(section), name.replace("-", "_")), []).extend(values)
    found = [_translate(name, ours, given) for name in given]
    return list(_without_repeated(found))


def _without_repeated(found: Sequence[Translated]) -> Iterator[Translated]:
    """Yield what becomes of options; one that the file has by two names counts once."""
    present = {one.ours: one for one in found if one.ours == one.name}
    for one in found:
        if one.ours is None or one.outcome is not Outcome.RENAMED:
            yield one
            continue
        first = present.setdefault(one.ours, one)
        if first is one:
            yield one
        elif first.name == one.ours or first.values == one.values:
            reason = f"{_shown(first.name)} is in the file, too"
            yield dataclasses.replace(one, outcome=Outcome.DROPPED, reason=reason)
        else:
            reason = f"{_shown(first.name)} is in the file, too, and has another value"
            yield dataclasses.replace(one, outcome=Outcome.DECIDE, values=(), reason=reason)


def lines_of(translated: Sequence[Translated]) -> Iterator[str]:
    """Yield the lines of our file: the options by group, with what is left to decide."""
    yield "# Translated from nova.conf by armillary-manage nova import-config."
    undecided = [one for one in translated if one.outcome is Outcome.DECIDE]
    if undecided:
        yield "#"
        yield "# To decide:"
        yield from (_one_line(f"# {_shown(one.name)}: {one.reason}") for one in undecided)
    by_group: dict[str, dict[str, tuple[str, ...]]] = {}
    for one in translated:
        if one.ours is not None and one.values and one.outcome is not Outcome.DROPPED:
            by_group.setdefault(one.ours[0], {})[one.ours[1]] = one.values
    for group, found in by_group.items():
        yield ""
        yield f"[{group}]"
        yield from (
            f"{name} = {_written(value)}" for name, values in found.items() for value in values
        )


def mistake_in(text: str) -> str | None:
    """Return why no service would start with this file, None if they would."""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:  # for its owner alone
        file.write(text)
        file.flush()
        try:
            loader.read_files([file.name])
        except exception.ConfigurationError as error:
            return error.message.replace(f"{file.name}: ", "")
    return None


def _translate(
    name: Name, ours: Mapping[Name, cfg.Opt], given: Mapping[Name, Sequence[str]]
) -> Translated:
    meant = _names_of_ours(ours).get(name, name)
    if name in known.UNDECIDED:
        return Translated(name, Outcome.DECIDE, reason=known.UNDECIDED[name])
    if name in known.DROPPED and meant == name:
        return Translated(name, Outcome.DROPPED, reason=known.DROPPED[name])
    if meant not in ours and not _is_of_library(name):
        return _foreign(name)
    try:
        values = _resolved(name, given)
        if meant not in ours:
            is_secret = any(word in name[1] for word in SECRET_WORDS)
            return Translated(name, Outcome.KEPT, name, values, is_secret=is_secret)
        if not ours[meant].multi:
            values = values[-1:]  # the last one counts
        translated = _checked(meant, _converted(meant, values), ours[meant])
    except _Undecided as error:
        return Translated(name, Outcome.DECIDE, meant, error.certain, reason=str(error))
    except _Meaningless as error:
        return Translated(name, Outcome.DROPPED, reason=str(error))
    if not translated:
        return Translated(name, Outcome.DROPPED, reason="it is our default")
    outcome = Outcome.KEPT if meant == name else Outcome.RENAMED
    return Translated(name, outcome, meant, translated, is_secret=bool(ours[meant].secret))


def _is_of_library(name: Name) -> bool:
    """Return whether a library that both use still reads an option."""
    group, option = name
    if option in known.REMOVED.get(group, {}):
        return False
    return group in known.LIBRARY_GROUPS or (group == "DEFAULT" and option in known.LIBRARY_OPTIONS)


def _foreign(name: Name) -> Translated:
    group, option = name
    if option in known.REMOVED.get(group, {}):
        return Translated(name, Outcome.DECIDE, reason=known.REMOVED[group][option])
    reason = known.DROPPED_GROUPS.get(group, known.NO_REASON)
    if group.startswith("mdev_"):
        reason = known.DROPPED_GROUPS["devices"]
    return Translated(name, Outcome.DROPPED, reason=reason)


def _resolved(name: Name, given: Mapping[Name, Sequence[str]]) -> tuple[str, ...]:
    """Return the values of an option without references. Raises ``_Undecided``."""
    try:
        return tuple(nova_files.resolved(value, name[0], given) for value in given[name])
    except nova_files.Unresolved as error:
        raise _Undecided(f"it refers to {error}") from error


def _converted(name: Name, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return values as our option has them. Raises ``_Undecided``."""
    if name in PLUGINS:
        return _plugins(name, values)
    if name[0] == "pci":
        return _devices(name, values)
    last = values[-1].strip()
    if name == ("compute", "driver"):
        driver = DRIVERS.get(last.rpartition(".")[2])
        if driver is None:
            raise _Undecided(f"there is no driver for {last}: choose libvirt, process or simulated")
        return (driver,)
    if name == ("scheduler", "driver"):
        return (_scheduler(last),)
    if name[0] == "upgrade_levels" and last.isalpha() and last != "auto":
        raise _Meaningless(
            "names of Nova's releases mean nothing here; see docs/operating/upgrade.md"
        )
    if name == ("libvirt", "images_type") and last == DEFAULT_IMAGES:
        return ()
    if name == ("compute", "stray_guest_action"):
        return (STRAY_GUESTS.get(last, last),)
    if name == ("api", "auth_strategy"):
        return ("noauth" if last.startswith("noauth") else last,)
    if name[1] == "max_retries" and last == "-1":
        raise _Meaningless("services wait for their databases without limit")
    if name[1].endswith("_allocation_ratio") and _is_zero(last):
        return ()  # in Nova, 0 means that it is not set
    if name == ("conductor", "discover_hosts_interval_seconds") and last == "-1":
        raise _Undecided("hosts are always discovered, every 10 s unless you set another interval")
    return values


def _scheduler(driver: str) -> str:
    """Return the name of our driver. Raises ``_Undecided``."""
    last = driver.rpartition(".")[2]
    if driver.startswith(NOVA):
        last = SCHEDULERS.get(last, last)
    if last not in SCHEDULERS.values():
        raise _Undecided(
            f"{driver} is not part of Armillary: choose {', '.join(SCHEDULERS.values())}, or "
            "install the package that has it"
        )
    return last


def _plugins(name: Name, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of our filters or weighers; other classes stay paths, to be installed."""
    own = {point.name for point in entry_points(group=PLUGINS[name])}
    found, foreign = [], []
    for path in (part.strip() for value in values for part in value.split(",")):
        possible = path.removeprefix(NOVA_MONITORS), path.rpartition(".")[2]
        short = next((name for name in possible if name in own), path)
        if path in NOVA_ALL_FILTERS:
            found.append(ALL_FILTERS)
        elif path == ALL_WEIGHERS:
            return ()
        elif path and short in own and (path == short or path.startswith(NOVA)):
            found.append(short)
        elif path:
            foreign.append(path)
    is_multiple = name[1] == "available_filters"
    certain = tuple(found) if is_multiple or not found else (", ".join(found),)
    if foreign:
        raise _Undecided(
            f"{', '.join(foreign)}: not part of Armillary. Install the package that has it and "
            f"add it, or leave it out; the new file has the others: {', '.join(found) or 'none'}",
            certain,
        )
    return certain


def _devices(name: Name, values: tuple[str, ...]) -> tuple[str, ...]:
    """Return descriptions of devices that our services understand. Raises ``_Undecided``."""
    try:
        if name[1] == "alias":
            pci.parse_aliases(values)
        if name[1] == "device_spec":
            DeviceSpec.parse_all(values)
    except exception.ConfigurationError as error:
        raise _Undecided(error.kwargs["reason"]) from error
    return values


def _checked(name: Name, values: tuple[str, ...], option: cfg.Opt) -> tuple[str, ...]:
    """Return values that our option allows. Raises ``_Undecided`` for others."""
    for value in values:
        try:
            option.type(value)
        except ValueError as error:
            raise _Undecided(f"{_shown(name)} does not allow '{value}': {error}") from error
    return values


def _names_of_ours(ours: Mapping[Name, cfg.Opt]) -> Mapping[Name, Name]:
    """Return former name -> name of our option."""
    former = {
        (old.group or group, str(old.name)): (group, name)
        for (group, name), option in ours.items()
        for old in option.deprecated_opts
    }
    return {**former, **known.RENAMED, **RENAMED}


def _own_options() -> dict[Name, cfg.Opt]:
    return {
        (group, option.name): option
        for module in option_modules()
        for group, options in module.OPTIONS.items()
        for option in options
    }


def _group(section: str) -> str:
    """Return the group of a section, whose name may have capitals."""
    return section if section == "DEFAULT" else section.lower()


def _written(value: str) -> str:
    """Return a value as a file has it: further lines indented, and quotes where they matter."""
    first, *others = value.split("\n")
    is_quoted = first.startswith(("'", '"')) and first[0] == first[-1]
    if first != first.strip() or is_quoted:
        first = f'"{first}"'
    return "\n    ".join([first, *others])


def _one_line(text: str) -> str:
    """Return a text whose value may have several lines on one."""
    return " ".join(text.split("\n"))


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0
    except ValueError:
        return False


def _shown(name: Name) -> str:
    return f"[{name[0]}] {name[1]}"
