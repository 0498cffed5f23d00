"""Write docs/plugin-reference.md from the plugins' docstrings; with --check, say if it is old."""

import configparser
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from oslo_config import cfg

from tools.generated_page import write_or_check

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("docs/plugin-reference.md")
WIDTH = 120

HEAD = """\
# Plugins that come with Armillary

<!-- Generated from the plugins' docstrings by `make samples`: change those. -->

How to enable them, and to write your own: [plugins.md](plugins.md).
"""

_OPTION = re.compile(r"\[(?P<group>\w+)\]\s+(?P<name>[a-z]\w*)")
_GROUP = re.compile(r"\[(\w+)\]")
_WORD = re.compile(r"``(?P<name>[a-z]\w+)``|\b(?P<bare>[a-z]+(?:_[a-z0-9]+)+)\b")
_ROLE = re.compile(r":\w+:`(?P<name>[^`]+)`")


@dataclasses.dataclass(frozen=True)
class Section:
    """A kind of plugin: its entry points, what it is called, and the option that enables it."""

    namespace: str
    title: str
    text: str
    group: str
    enabled_by: str


SECTIONS = (
    Section(
        "armillary.scheduler.filters",
        "Filters",
        "Yes or no to each host. `[filter_scheduler] enabled_filters` lists those that run, in "
        "their order.",
        "filter_scheduler",
        "enabled_filters",
    ),
    Section(
        "armillary.scheduler.weighers",
        "Weighers",
        "A number for each host, normalised over the hosts that are left, times the multiplier; "
        "the host with the greatest sum is taken. `[filter_scheduler] weight_classes` lists those "
        "that run.",
        "filter_scheduler",
        "weight_classes",
    ),
    Section(
        "armillary.scheduler.request_filters",
        "Request filters",
        "They turn what a request says into the question to placement. "
        "`[scheduler] request_filters` lists those that run, in their order.",
        "scheduler",
        "request_filters",
    ),
    Section(
        "armillary.scheduler.driver",
        "Scheduler drivers",
        "`[scheduler] driver` names the one that decides.",
        "scheduler",
        "driver",
    ),
    Section(
        "armillary.compute.drivers",
        "Compute drivers",
        "`[compute] driver` names what runs the servers of an agent's hosts.",
        "compute",
        "driver",
    ),
    Section(
        "armillary.compute.monitors",
        "Monitors",
        "They measure an agent's host; `[DEFAULT] compute_monitors` lists those that run.",
        "DEFAULT",
        "compute_monitors",
    ),
    Section(
        "armillary.servicegroup.drivers",
        "Service group drivers",
        "`[DEFAULT] servicegroup_driver` names where the heartbeats of a cell's hosts are kept.",
        "DEFAULT",
        "servicegroup_driver",
    ),
)


MODULES = ("scheduler", "compute", "conductor", "testing")
"""Modules of ``armillary.plugins``, in the order of the page."""


class Options:
    """All options of all services, by group and name."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], cfg.Opt] = {}
        for module in importlib.import_module("armillary.conf").option_modules():
            for group, options in module.OPTIONS.items():
                for option in options:
                    self._known[str(group), option.dest] = option

    def find(self, group: str, name: str) -> cfg.Opt | None:
        return self._known.get((group, name))

    def default(self, group: str, name: str) -> Any:
        return self._known[group, name].default

    def named_by(self, plugin: type[Any], group: str) -> list[tuple[str, cfg.Opt]]:
        """Return the options that a plugin's docstring names, and those that its class says.

        An option without a group is looked for in the groups that are named with one, then in
        ``group``.
        """
        text = " ".join((inspect.getdoc(plugin) or "").split())
        found = {(m["group"], m["name"]) for m in _OPTION.finditer(text)}
        groups = [*sorted(set(_GROUP.findall(text))), group]
        words = {m["name"] or m["bare"] for m in _WORD.finditer(text)}
        words |= {getattr(plugin, name, None) for name in ("option", "multiplier_option")}
        for word in words:
            inside = [(each, word) for each in groups if (each, word) in self._known]
            found.update(inside[:1])
        return [(each, self._known[each, name]) for each, name in sorted(found & set(self._known))]


def page() -> str:
    """Return the whole page."""
    options = Options()
    plugins = _plugins()
    parts = [HEAD]
    for section in SECTIONS:
        parts.append(f"## {section.title}\n\n{_wrapped(section.text)}\n")
        for name, plugin in sorted(plugins[section.namespace].items(), key=_by_name):
            parts.append(_entry(name, plugin, section, options))
    parts.append(_names())
    return "\n".join(parts)


def _names() -> str:
    """Return the section about the names that plugins of third parties import."""
    lines = ["## What plugins import", ""]
    for name in MODULES:
        module = importlib.import_module(f"armillary.plugins.{name}")
        lines += [f"### armillary.plugins.{name}", "", _wrapped(_sentence(module)), ""]
        lines += ["| name | |", "| --- | --- |"]
        lines += [f"| `{each}` | {_sentence(getattr(module, each))} |" for each in module.__all__]
        lines.append("")
    return "\n".join(lines)


def _sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring; empty for a type alias or a constant."""
    if not (inspect.isclass(thing) or inspect.isroutine(thing) or inspect.ismodule(thing)):
        return ""
    paragraph, *_others = (inspect.getdoc(thing) or "").split("\n\n")
    return _markdown(paragraph).replace("\n", " ").replace("|", "\\|")


def _plugins() -> dict[str, dict[str, type[Any]]]:
    """Return namespace -> name -> class, of what setup.cfg registers."""
    setup = configparser.ConfigParser(delimiters=("=",))
    setup.optionxform = str  # type: ignore[assignment,method-assign]  # names keep their case
    setup.read(ROOT / "setup.cfg")
    points = setup["options.entry_points"]
    return {section.namespace: dict(_classes(points[section.namespace])) for section in SECTIONS}


def _classes(points: str) -> Iterator[tuple[str, type[Any]]]:
    for line in points.split("\n"):
        name, equals, path = (part.strip() for part in line.partition("="))
        if equals:
            module, _colon, attribute = path.partition(":")
            yield name, getattr(importlib.import_module(module), attribute)


def _by_name(item: tuple[str, type[Any]]) -> str:
    return item[0].lower()


# One entry ----------------------------------------------------------------------------------------


def _entry(name: str, plugin: type[Any], section: Section, options: Options) -> str:
    lines = [f"### {name}", ""]
    facts = list(_facts(name, plugin, section, options))
    if facts:
        told = "; ".join(facts)
        lines += [f"*{told[0].upper()}{told[1:]}.*", ""]
    lines += [_markdown(inspect.getdoc(plugin) or ""), ""]
    named = options.named_by(plugin, section.group)
    named = [(group, each) for group, each in named if each.dest != section.enabled_by]
    if named:
        lines += ["| option | default | |", "| --- | --- | --- |"]
        lines += [_option_row(group, option) for group, option in named]
        lines.append("")
    return "\n".join(lines)


def _facts(name: str, plugin: type[Any], section: Section, options: Options) -> Iterator[str]:
    default = options.default(section.group, section.enabled_by)
    if name == default or (isinstance(default, list) and name in default):
        yield "enabled by default"
    once = getattr(plugin, "run_filter_once_per_request", None)
    if once is not None:
        yield "asked once a request" if once else "asked again for each instance of a request"
        if getattr(plugin, "RUN_ON_REBUILD", False):
            yield "also when a server is rebuilt"
    if getattr(plugin, "multiplier_option", None):
        key = plugin.multiplier_option
        yield f"key of aggregate metadata that overrides the multiplier: `{key}`"
    uses = getattr(plugin, "uses_allocation_candidates", None)
    if uses is not None:
        yield "uses allocation candidates" if uses else "does without allocation candidates"


def _option_row(group: str, option: cfg.Opt) -> str:
    text = " ".join((option.help or "").split()).replace("``", "`").replace("|", "\\|")
    return f"| `[{group}] {option.name}` | {_value(option.default)} | {text} |"


def _value(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list):
        value = ", ".join(map(str, value))
    return f"`{value}`" if str(value) else "empty"


def _markdown(text: str) -> str:
    """Return a docstring as Markdown: roles and double backquotes, paragraphs, lists, literals."""
    text = _ROLE.sub(lambda match: f"`{match['name'].lstrip('~')}`", text).replace("``", "`")
    return "\n\n".join(_block(block) for block in re.split(r"\n\s*\n", text))


def _block(block: str) -> str:
    lines = block.split("\n")
    if lines[0].startswith(("    ", "|")):  # a literal block, or a table
        return block
    if not lines[0].startswith(("- ", "* ")):
        return _wrapped(" ".join(line.strip() for line in lines))
    items: list[str] = []
    for line in lines:
        if line.startswith(("- ", "* ")):
            items.append(line[2:])
        else:
            items[-1] += f" {line.strip()}"
    return "\n".join(_wrapped(item, "- ", "  ") for item in items)


def _wrapped(text: str, first: str = "", rest: str = "") -> str:
    """Break a paragraph into lines, but not within what is quoted as code."""
    words = re.findall(r"(?:`[^`]*`|\S)+", text)
    lines, line = [], first
    for word in words:
        if len(line) + len(word) > WIDTH and line.strip() not in ("", "-"):
            lines.append(line.rstrip())
            line = rest
        line += f"{word} "
    return "\n".join([*lines, line.rstrip()])


def main() -> int:
    """Return 0 when the page is, or has been brought, up to date."""
    return write_or_check(ROOT / PAGE, page, __doc__)


if __name__ == "__main__":
    sys.exit(main())
