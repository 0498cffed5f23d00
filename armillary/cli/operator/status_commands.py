"""``armillary-status``: whether a deployment is ready for this release."""

from __future__ import annotations

import argparse
from typing import Any

from cliff.lister import Lister

from armillary.cli.operator.checks import CHECKS, Code, run_check


class UpgradeCheck(Lister):
    """Check whether services of this release can be started on this deployment.

    Exit codes: 0 all is well, 1 there are warnings, 2 something has to be done first, 255 the
    check itself failed.
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
