"""``armillary-status``: readiness of a deployment for this release, and unfinished tasks."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import time
from datetime import datetime
from typing import Any

from cliff.lister import Lister

from armillary import exception
from programs.application import WithOptions
from programs.operator import unfinished_tasks
from programs.operator.checks import CHECKS, Code, run_check
from programs.operator.unfinished_tasks import Found

EXIT_NOTHING = 0
EXIT_OLD = 1
EXIT_FAILED = 2

OLDER_THAN_SECONDS = 600
OLDEST_SHOWN = 10
OLDEST_SHOWN_MAX = 10_000


class UpgradeCheck(Lister):
    """Check whether services of this release can be started on this deployment.

    Exit codes: 0 success, 1 warnings, 2 failures that must be fixed first, 255 the check itself
    failed.
    """

    app: Any

    def take_action(self, parsed_args: argparse.Namespace) -> tuple[Any, Any]:
        results = [(name, run_check(check, self.app.conf)) for name, check in CHECKS]
        self._worst = max((result.code for _, result in results), default=Code.SUCCESS)
        rows = [(name, result.code.name.capitalize(), result.details) for name, result in results]
        return ("Check", "Result", "Details"), rows

    def run(self, parsed_args: argparse.Namespace) -> int:
        super().run(parsed_args)
        return int(self._worst)


class Recovery(WithOptions):
    """Show unfinished tasks in the API database and the cell's, and their age.

    These are the tasks that conductors work on or that wait for one: reservations, cleanups and
    moves in the API database; builds, deletes and operations in the cell's. Run it with the
    configuration of the super conductor, and with that of each cell's conductor.

    Exit codes: 0 no task is older than --older-than; 1 a task is, or its age is unknown; 2 usage
    error, or a database could not be read.
    """

    app: Any

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--older-than", metavar="SECONDS", type=_seconds, default=OLDER_THAN_SECONDS,
            help="age in seconds from which on a task is reported as stuck (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument(
            "--limit", metavar="NUMBER", type=_shown, default=OLDEST_SHOWN,
            help="number of oldest tasks to show (default: %(default)s)",
        )  # fmt: skip
        parser.add_argument("--json", action="store_true", help="print JSON")

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        now_seconds = time.time()
        try:
            found = unfinished_tasks.find(
                self.app.conf, now_seconds=now_seconds, limit=parsed_args.limit
            )
        except exception.ArmillaryError as error:
            self.app.LOG.error(error)  # noqa: TRY400 - a line, no traceback
            return EXIT_FAILED
        if parsed_args.json:
            self.app.stdout.write(f"{_as_json(found, now_seconds)}\n")
        else:
            text = unfinished_tasks.lines(found, now_seconds=now_seconds)
            self.app.stdout.write("".join(f"{line}\n" for line in text))
        for reason in found.errors:
            self.app.LOG.error(reason)
        if found.errors:
            return EXIT_FAILED
        return EXIT_OLD if _is_amiss(found, now_seconds - parsed_args.older_than) else EXIT_NOTHING


def _is_amiss(found: Found, moment_seconds: float) -> bool:
    since = [group.oldest_since for group in found.groups]
    return any(each is None or each.timestamp() < moment_seconds for each in since)


def _as_json(found: Found, now_seconds: float) -> str:
    def age_seconds(since: datetime | None) -> float | None:
        return None if since is None else round(max(0.0, now_seconds - since.timestamp()), 3)

    document = {
        "databases": found.databases,
        "total": found.total,
        "groups": [
            {**dataclasses.asdict(group), "age_seconds": age_seconds(group.oldest_since)}
            for group in found.groups
        ],
        "oldest": [
            {**dataclasses.asdict(work), "age_seconds": age_seconds(work.since)}
            for work in found.oldest
        ],
        "errors": found.errors,
    }
    return json.dumps(document, indent=2, default=datetime.isoformat)


def _seconds(text: str) -> float:
    return float(_number(text, 0, 10**9))


def _shown(text: str) -> int:
    return _number(text, 0, OLDEST_SHOWN_MAX)


def _number(text: str, lowest: int, highest: int) -> int:
    if not re.fullmatch("[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from {lowest} to {highest}")
    return int(text)
