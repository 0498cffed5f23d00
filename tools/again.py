"""Run the few tests that failed in `make test` once more, alone.

Among eleven thousand tests of processes, brokers and databases one may fail for a reason that is
not in the commit. CI refuses a commit for what fails again. A test that passes now is named as
unstable, and the folder with its artifacts stays: it has to be mended, too.
"""

import json
import subprocess
import sys
from pathlib import Path

FAILED_MAX = 2
"""More failures than these together are taken as the commit's."""
PASSED, FAILED = 0, 1  # exit codes of pytest


class NotAgain(Exception):
    """The run failed in another way than by a few tests."""


def failed_tests(groups: Path) -> list[str]:
    """Return the tests that failed, from the files that the groups left. Raises NotAgain."""
    found: list[str] = []
    for file in sorted(groups.glob("*.json")):
        group = json.loads(file.read_text())
        if group["exit_code"] not in (PASSED, FAILED):
            raise NotAgain(f"{file.stem} broke off; pytest's exit code: {group['exit_code']}")
        if group["exit_code"] == FAILED and not group["failed"]:
            raise NotAgain(f"{file.stem} failed without a failed test")
        found += group["failed"]
    if not found:
        raise NotAgain(f"no failed test is noted in {groups}")
    if len(found) > FAILED_MAX:
        raise NotAgain(f"{len(found)} tests failed; at most {FAILED_MAX} are run again")
    return found


def main(groups: Path, options: list[str]) -> int:
    """Run the failed tests of a run with these options of pytest; return the exit code."""
    try:
        tests = failed_tests(groups)
    except NotAgain as reason:
        print(f"not run again: {reason}", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "pytest", *options, *tests]
    code = subprocess.run(command, check=False).returncode
    if code == PASSED:
        print("\n".join(f"unstable, failed once and passed alone: {test}" for test in tests))
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
