"""``armillary-manage plugin``: which plugins are installed, and a package to begin one with."""

import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from string import Template
from typing import Any

from armillary import exception
from armillary.conf import register
from armillary.conf.scheduling import filter_scheduler, scheduler
from programs.application import WithOptions
from programs.display.output import Lister

GROUP_OF_KIND = {
    "filter": "armillary.scheduler.filters",
    "weigher": "armillary.scheduler.weighers",
    "request filter": "armillary.scheduler.request_filters",
    "scheduler driver": "armillary.scheduler.driver",
    "compute driver": "armillary.compute.drivers",
    "monitor": "armillary.compute.monitors",
    "service group driver": "armillary.servicegroup.drivers",
}
"""Kind of plugin -> its group of entry points."""

DISTRIBUTION = "armillary"
_CLASS_NAME = re.compile(r"[A-Z][A-Za-z0-9]*")
_ALL_WEIGHERS = "all_weighers"


class PluginList(Lister):
    """List the installed plugins, where they come from, and whether they can be imported.

    Run it with the scheduler's configuration to see which filters, weighers and request filters
    are enabled.
    """

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("--kind", choices=list(GROUP_OF_KIND), help="only plugins of this kind")

    def take_action(self, parsed_args: Namespace) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        register(self.app.conf, filter_scheduler, scheduler)
        columns = ("Kind", "Name", "Enabled", "Package", "Problem")
        return columns, list(self._rows(parsed_args.kind))

    def _rows(self, only: str | None) -> Iterator[tuple[Any, ...]]:
        enabled = self._enabled()
        for kind, group in GROUP_OF_KIND.items():
            for point in sorted(entry_points(group=group), key=lambda each: each.name):
                if only in (None, kind):
                    names = enabled.get(kind)
                    is_on = "" if names is None else "yes" if _is_in(point, names) else "no"
                    yield kind, point.name, is_on, _package(point), _problem(point)

    def _enabled(self) -> dict[str, list[str]]:
        conf = self.app.conf
        return {
            "filter": conf.filter_scheduler.enabled_filters,
            "weigher": conf.filter_scheduler.weight_classes,
            "request filter": conf.scheduler.request_filters,
        }


def _is_in(point: EntryPoint, names: list[str]) -> bool:
    """Return whether names of an option, or class paths, stand for a plugin."""
    if any(name.endswith(_ALL_WEIGHERS) for name in names) and "weighers" in point.group:
        return True
    return any(name in (point.name, point.value, point.value.replace(":", ".")) for name in names)


def _package(point: EntryPoint) -> str:
    """Return the package of a plugin; of others than our own with its version."""
    if point.dist is None:
        return ""
    is_own = point.dist.name == DISTRIBUTION
    return DISTRIBUTION if is_own else f"{point.dist.name} {point.dist.version}"


def _problem(point: EntryPoint) -> str:
    try:
        point.load()
    except Exception as error:  # importing a plugin can raise anything
        return " ".join(f"{type(error).__name__}: {error}".split())
    return ""


class PluginCreate(WithOptions):
    """Write a package with a filter or a weigher, its entry point and a test, to begin with."""

    app: Any

    def add_options(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", metavar="CLASS", help="name of the class, such as RackFilter")
        parser.add_argument(
            "--kind", choices=list(_TEMPLATES), help="default: by the end of the name"
        )
        parser.add_argument(
            "--directory", type=Path, help="new directory to write to (default: after the class)"
        )

    def take_action(self, parsed_args: Namespace) -> int:
        name = parsed_args.name
        kind = parsed_args.kind or ("weigher" if name.endswith("Weigher") else "filter")
        if not _CLASS_NAME.fullmatch(name):
            raise exception.Invalid(reason=f"{name} is not the name of a class, such as RackFilter")
        module = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
        folder = parsed_args.directory or Path(module.replace("_", "-"))
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise exception.Invalid(
                reason=f"{folder} exists; name another one with --directory"
            ) from error
        values = {"name": name, "module": module, "package": module.replace("_", "-")}
        values["group"] = GROUP_OF_KIND[kind]
        body, test = _TEMPLATES[kind]
        for path, text in (
            ("pyproject.toml", _PROJECT), (f"{module}.py", body), (f"test_{module}.py", test),
        ):  # fmt: skip
            (folder / path).write_text(Template(text).substitute(values), encoding="utf-8")
        option = "enabled_filters" if kind == "filter" else "weight_classes"
        # without a slash pip fetches a package of that name from its index
        place = folder if folder.is_absolute() else f"./{folder}"
        self.app.stdout.write(
            f"Wrote {folder}. Next:\n"
            f"  edit {module}.py, and run its test: python -m pytest {place}\n"
            f"  install it where the scheduler runs: python -m pip install {place}\n"
            f"  add {name} to [filter_scheduler] {option}, and restart the scheduler\n"
        )
        return 0


_PROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "$package"
version = "0.1"

[project.entry-points."$group"]
$name = "$module:$name"

[tool.setuptools]
py-modules = ["$module"]
"""

_FILTER = '''\
"""$name: which hosts can take an instance."""

from armillary.plugins.scheduler import BaseHostFilter


class $name(BaseHostFilter):
    """Pass hosts that run no more instances than the flavor's ``$package:instances_max``."""

    def host_passes(self, host_state, spec):
        limit = spec.flavor.extra_specs.get("$package:instances_max", "")
        return not limit.isdecimal() or host_state.num_instances <= int(limit)

    def explain(self, host_state, spec):
        return f"runs {host_state.num_instances} instances"
'''
_FILTER_TEST = """\
from $module import $name

from armillary.plugins import testing

HOSTS = testing.a_host_table([{"host": "empty"}, {"host": "busy", "num_instances": 3}])


def test_a_busy_host_is_left_out():
    spec = testing.a_request_spec({"$package:instances_max": "1"})
    each = $name(testing.configuration())
    assert [each.host_passes(host, spec) for host in HOSTS] == [True, False]
    testing.assert_filter_forms_agree(each, HOSTS, spec)
"""
_WEIGHER = '''\
"""$name: which of the hosts that fit is better."""

from armillary.plugins.scheduler import BaseHostWeigher


class $name(BaseHostWeigher):
    """Prefers hosts that run fewer instances."""

    def host_weight(self, host_state, spec):
        return -host_state.num_instances
'''
_WEIGHER_TEST = """\
from $module import $name

from armillary.plugins import testing

HOSTS = testing.a_host_table([{"host": "empty"}, {"host": "busy", "num_instances": 3}])


def test_an_empty_host_is_better():
    spec = testing.a_request_spec()
    each = $name(testing.configuration())
    assert each.host_weight(HOSTS[0], spec) > each.host_weight(HOSTS[1], spec)
    testing.assert_weigher_forms_agree(each, HOSTS, spec)
"""
_TEMPLATES = {"filter": (_FILTER, _FILTER_TEST), "weigher": (_WEIGHER, _WEIGHER_TEST)}
"""Kind -> module and test of a new package."""
