"""The command ``simulate``: read the inputs, run each policy, report and write the results."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from armillary import concurrency, exception
from programs.application import WithOptions
from programs.commands import arguments
from programs.display.progress import Show, progress

if TYPE_CHECKING:
    from simulator.results.outcome import Outcome
    from simulator.scenario.policies import Policy
    from simulator.zones.outcome import ZonesOutcome

LOG = logging.getLogger(__name__)

LINE_SECONDS = 10.0
"""Pause between lines that show the progress where there is no terminal."""


class Simulate(WithOptions):
    """Try a scheduling policy on a fleet and a load described by a YAML file.

    Nothing runs and no service is asked: scheduler and placement decide in this process, in
    simulated time. The same scenario, seed and policy give the same result, except for timings.
    """

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "scenario", type=Path, metavar="SCENARIO.yaml", help="scenario file with fleet and load"
        )
        parser.add_argument(
            "--config-file",
            type=Path,
            metavar="FILE",
            action="append",
            default=[],
            help="options of scheduler and placement; may be repeated, the last one wins",
        )
        parser.add_argument(
            "--compare",
            type=Path,
            nargs=2,
            metavar=("A.conf", "B.conf"),
            default=[],
            help="run two policies on the same load, each on top of --config-file",
        )
        parser.add_argument(
            "--seed", type=arguments.not_negative, help="overrides the scenario's own"
        )
        parser.add_argument("--json", type=Path, metavar="FILE", help="write all results as JSON")
        parser.add_argument(
            "--plot", type=Path, metavar="FILE.png", help="plot the results over time"
        )
        parser.add_argument(
            "--html",
            type=Path,
            metavar="FILE.html",
            help="write an HTML page: hosts over time, decisions, policies side by side",
        )

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        concurrency.silence_eventlet_deprecations()
        # Not at module level: the help of this command would load them, too.
        from simulator.results import html_page, plot, report
        from simulator.scenario import files
        from simulator.scenario.policies import read_policies
        from simulator.scenario.scenario_file import read_scenario
        from simulator.simulation import simulate
        from simulator.zones import report as zones_report
        from simulator.zones.simulation import simulate_zones

        if parsed_args.json:
            files.require_writable("--json", parsed_args.json)
        if parsed_args.plot:
            plot.require_matplotlib()
            files.require_writable("--plot", parsed_args.plot)
        if parsed_args.html:
            files.require_writable("--html", parsed_args.html)
        scenario = read_scenario(parsed_args.scenario, seed=parsed_args.seed)
        policies = read_policies(parsed_args.config_file, parsed_args.compare)
        for warning in dict.fromkeys(text for each in policies for text in each.warnings):
            LOG.warning("%s", warning)
        seconds = int(scenario.duration_seconds)
        outcomes: list[Outcome] = []
        zones_outcomes: list[ZonesOutcome] = []
        if scenario.tree is None:
            for policy in policies:
                with self._progress(policy, seconds) as show:
                    outcomes.append(simulate(scenario, policy, show))
            self.app.stdout.write(report.text_of(scenario, outcomes))
        else:
            for option, path in (("--plot", parsed_args.plot), ("--html", parsed_args.html)):
                if path:
                    raise exception.Invalid(f"{option} requires a scenario without zones.")
            for policy in policies:
                with self._progress(policy, seconds) as show:
                    zones_outcomes.append(simulate_zones(scenario, scenario.tree, policy, show))
            self.app.stdout.write(zones_report.text_of(scenario, zones_outcomes))
        with _reported_write_errors():
            if parsed_args.json:
                files.write_json(parsed_args.json, scenario, outcomes or zones_outcomes)
            if parsed_args.plot:
                plot.draw(scenario.title, outcomes, parsed_args.plot)
            if parsed_args.html:
                html_page.write_html(parsed_args.html, scenario, outcomes)
        return 0

    def _progress(self, policy: Policy, seconds: int) -> contextlib.AbstractContextManager[Show]:
        stream = self.app.stderr
        title = f"Simulated seconds under {policy.name}"
        return progress(stream, title, seconds, line_seconds=LINE_SECONDS)


@contextlib.contextmanager
def _reported_write_errors() -> Iterator[None]:
    """Report in one line which file could not be written."""
    try:
        yield
    except OSError as error:
        raise exception.ArmillaryError(
            f"{error.filename}: cannot be written: {error.strerror}"
        ) from error
