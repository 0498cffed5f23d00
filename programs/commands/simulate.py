"""The command ``simulate``: read the inputs, run each policy, report and write the results."""

from __future__ import annotations

import argparse
import contextlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from cliff.command import Command

from armillary import concurrency, exception
from programs.commands import arguments

if TYPE_CHECKING:
    from simulator.results.outcome import Outcome
    from simulator.scenario.policies import Policy
    from simulator.scenario.scenario import Scenario
    from simulator.zones.outcome import ZonesOutcome

LOG = logging.getLogger(__name__)


class Simulate(Command):
    """Try a scheduling policy on a fleet and a load described by a YAML file.

    Nothing runs and no service is asked: scheduler and placement decide in this process, in
    simulated time. The same scenario, seed and policy give the same result, except for timings.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
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
        return parser

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        concurrency.silence_eventlet_deprecations()
        # Not at module level: all other commands would load what only this one needs.
        from simulator.results.report import text_of
        from simulator.scenario.policies import read_policies
        from simulator.scenario.scenario_file import read_scenario

        _check_outputs(parsed_args)
        scenario = read_scenario(parsed_args.scenario, seed=parsed_args.seed)
        policies = read_policies(parsed_args.config_file, parsed_args.compare)
        for warning in dict.fromkeys(text for each in policies for text in each.warnings):
            LOG.warning("%s", warning)
        if scenario.tree is not None:
            self._take_action_on_zones(parsed_args, scenario, policies)
            return 0
        outcomes = [_run(scenario, policy, self.app.stderr) for policy in policies]
        self.app.stdout.write(text_of(scenario, outcomes))
        _write(parsed_args, scenario, outcomes)
        return 0

    def _take_action_on_zones(
        self, parsed_args: argparse.Namespace, scenario: Scenario, policies: Sequence[Policy]
    ) -> None:
        from simulator.zones.report import text_of

        if parsed_args.plot:
            raise exception.Invalid("--plot requires a scenario without zones.")
        outcomes = [_run_zones(scenario, policy, self.app.stderr) for policy in policies]
        self.app.stdout.write(text_of(scenario, outcomes))
        _write_json(parsed_args, scenario, outcomes)


def _check_outputs(parsed_args: argparse.Namespace) -> None:
    from simulator.results.plot import require_matplotlib
    from simulator.scenario.files import require_writable

    if parsed_args.json:
        require_writable("--json", parsed_args.json)
    if parsed_args.plot:
        require_matplotlib()
        require_writable("--plot", parsed_args.plot)


def _run(scenario: Scenario, policy: Policy, stream: TextIO) -> Outcome:
    from programs.commands.progress import progress
    from simulator.simulation import simulate

    title = f"Simulating {policy.name}"
    seconds = int(scenario.duration_seconds)
    with progress(stream, title, seconds, quiet=not stream.isatty()) as show:
        return simulate(scenario, policy, show)


def _run_zones(scenario: Scenario, policy: Policy, stream: TextIO) -> ZonesOutcome:
    from programs.commands.progress import progress
    from simulator.zones.simulation import simulate_zones

    title = f"Simulating {policy.name}"
    seconds = int(scenario.duration_seconds)
    assert scenario.tree is not None
    with progress(stream, title, seconds, quiet=not stream.isatty()) as show:
        return simulate_zones(scenario, scenario.tree, policy, show)


def _write(parsed_args: argparse.Namespace, scenario: Scenario, outcomes: list[Outcome]) -> None:
    from simulator.results.plot import draw

    _write_json(parsed_args, scenario, outcomes)
    if parsed_args.plot:
        with _said():
            draw(scenario.title, outcomes, parsed_args.plot)


def _write_json(
    parsed_args: argparse.Namespace,
    scenario: Scenario,
    outcomes: Sequence[Outcome] | Sequence[ZonesOutcome],
) -> None:
    from simulator.scenario.files import write_json

    if parsed_args.json:
        with _said():
            write_json(parsed_args.json, scenario, outcomes)


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Report in one line which file could not be written."""
    try:
        yield
    except OSError as error:
        raise exception.ArmillaryError(
            f"{error.filename}: cannot be written: {error.strerror}"
        ) from error
