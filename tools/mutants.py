"""Put deliberate faults into copies of the tree, one at a time, and see that the tests find them.

The faults are in ``tools/mutants.toml``. A fault is found when one of its tests fails, or when they
take too long. The checkout itself is never changed.
"""

import argparse
import dataclasses
import os
import queue
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

import psutil

from tests.fixtures.plugins import watchdog
from tests.fixtures.waiting import Deadline

ROOT = Path(__file__).resolve().parent.parent
FAULTS = ROOT / "tools" / "mutants.toml"
SECONDS_MAX = 300
"""How long the tests of a fault may take, in seconds of an idle machine."""
JOBS_MAX = 2
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "*.egg-info")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)

PYTEST_FAILED, PYTEST_BROKE_OFF = 1, 2


class StaleFault(Exception):
    """A fault does not fit the code any more, or its tests cannot be run."""


@dataclasses.dataclass(frozen=True)
class Fault:
    """One line of a file replaced by another, and the tests that have to notice.

    ``kind`` is what part of the system's promises it breaks; ``old`` occurs once in the file.
    """

    name: str
    kind: str
    file: str
    old: str
    new: str
    tests: Sequence[str]

    def apply(self, tree: Path) -> str:
        """Put the fault into a tree; return what its file was before. Raises StaleFault."""
        path = tree / self.file
        if not path.is_file():
            raise StaleFault(f"{self.name}: there is no file {self.file}")
        before = path.read_text()
        count = before.count(self.old)
        if count != 1:
            raise StaleFault(
                f"{self.name}: its old text is {count} times in {self.file}: {self.old}"
            )
        path.write_text(before.replace(self.old, self.new))
        return before


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How the tests of one fault ended; ``found_by`` is None where none of them noticed.

    ``trouble`` says why its tests could not be run.
    """

    fault: Fault
    found_by: str | None
    seconds: float
    trouble: str | None = None

    def __str__(self) -> str:
        verdict = f"found by {self.found_by}" if self.found_by else "NOT FOUND"
        if self.trouble is not None:
            verdict = f"COULD NOT BE TRIED ({self.trouble})"
        return f"{self.fault.name} ({self.fault.kind}): {verdict} in {self.seconds:.0f} s"


def read_faults(file: Path = FAULTS) -> list[Fault]:
    """Return all faults of a file."""
    return [Fault(**entry) for entry in tomllib.loads(file.read_text())["fault"]]


def check(fault: Fault) -> None:
    """Raise StaleFault unless the code and the tests that a fault names are there."""
    source = ROOT / fault.file
    count = source.read_text().count(fault.old) if source.is_file() else 0
    if count != 1:
        raise StaleFault(
            f"{fault.name}: its old text is {count} times in {fault.file}: {fault.old}"
        )
    old, new = fault.old.splitlines(), fault.new.splitlines()
    if len(old) != len(new) or sum(one != other for one, other in zip(old, new, strict=True)) != 1:
        raise StaleFault(f"{fault.name}: it has to change one line")
    for test in fault.tests:
        path, _, name = test.partition("::")
        place = ROOT / path
        function = name.partition("[")[0].rpartition("::")[2]
        if not place.exists() or (name and f"def {function}(" not in place.read_text()):
            raise StaleFault(f"{fault.name}: there is no test {test}")


class Trees:
    """Copies of the checkout, one for each job."""

    def __init__(self, folder: Path, count: int) -> None:
        self._all: list[Path] = []
        self._free: queue.Queue[Path] = queue.Queue()
        for number in range(count):
            tree = folder.resolve() / f"tree-{number}"
            # With the times of its files, so that what was compiled from them stays good.
            shutil.copytree(ROOT, tree, symlinks=True, ignore=_LEFT_OUT)
            self._all.append(tree)
            self._free.put(tree)

    @contextmanager
    def lent(self) -> Iterator[Path]:
        """Lend one that no other run uses."""
        tree = self._free.get()
        try:
            yield tree
        finally:
            self._free.put(tree)

    def close(self) -> None:
        """End what runs in them."""
        for tree in self._all:
            end_all_in(tree)

    @contextmanager
    def faulty(self, fault: Fault) -> Iterator[Path]:
        """Lend one with a fault."""
        with self.lent() as tree:
            source = tree / fault.file
            times = source.stat()
            before = fault.apply(tree)
            # Else a file of the same length and second would be taken for what was compiled.
            os.utime(source, (times.st_atime, times.st_mtime + 3600))
            try:
                yield tree
            finally:
                source.write_text(before)
                os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))


def run_tests(tree: Path, tests: Sequence[str], *options: str) -> tuple[str | None, float]:
    """Return which test failed, or None; and how long it took. Raises StaleFault for no tests."""
    began = time.monotonic()
    said = tree / "tests.log"
    command = [
        *(sys.executable, "-m", "pytest", "-q", "-m", "not long", "--tb=no", "-rfE"),
        *("-p", "no:cacheprovider", "--failed-folder", str(tree / "failed")),
        *(*options, *tests),
    ]
    with said.open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=tree,
            env={**os.environ, **_environment(tree)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        if not _has_ended(process, Deadline(SECONDS_MAX)):
            return f"its time limit, {SECONDS_MAX} s", time.monotonic() - began
    finally:
        end_all_in(tree)
        process.wait()
    seconds = time.monotonic() - began
    return failed_in(tests, process.returncode, said.read_text(errors="replace")), seconds


def failed_in(tests: Sequence[str], exit_code: int, output: str) -> str | None:
    """Return what failed in a run of pytest, or None. Raises StaleFault if no test was run."""
    if exit_code == 0:
        return None
    if exit_code == watchdog.EXIT_CODE:
        return "the time limit of its run"
    failed = _FAILED.search(output)
    if exit_code not in (PYTEST_FAILED, PYTEST_BROKE_OFF) or failed is None:
        raise StaleFault(f"{' '.join(tests)} could not be run:\n{output[-2000:]}")
    if "error during collection" in output:
        raise StaleFault(f"{failed[1]} could not even be imported:\n{output[-2000:]}")
    return failed[1]


def _has_ended(process: subprocess.Popen[bytes], deadline: Deadline) -> bool:
    """Wait for the end of a process; return whether that came before the deadline."""
    while not deadline.has_passed:
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(1.0, deadline.remaining_seconds()))
            return True
    return False


def end_all_in(tree: Path) -> None:
    """Kill all processes that were started in a tree: tests that are killed leave some."""
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if Path(process.cwd()).is_relative_to(tree):
                process.kill()


def _environment(tree: Path) -> dict[str, str]:
    return {
        # Before what is installed from the checkout itself, in every process that a test starts.
        "PYTHONPATH": str(tree),
        "PYTHONDONTWRITEBYTECODE": "1",
        "ARMILLARY_SAMPLE_SEED": os.environ.get("ARMILLARY_SAMPLE_SEED") or _head(),
    }


def _head() -> str:
    """Return what the checkout's samples are taken by: the copies have no history."""
    answer = subprocess.run(
        ["git", "rev-parse", "--short=8", "HEAD"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return answer.stdout.strip() or "0"


def directories_of(fault: Fault) -> list[str]:
    """Return the folders of tests that a fault's tests are in: those of a whole package."""
    parts = [PurePath(test.partition("::")[0]).parts for test in fault.tests]
    return sorted({"/".join(p[: 3 if p[1] == "unit" else 2]) for p in parts})


def try_out(trees: Trees, fault: Fault, *, all_tests: bool) -> Outcome:
    """Return whether a fault is found, by its own tests or, if asked for, by others near them.

    Tests that cannot be run with it do not keep other faults from being tried.
    """
    began = time.monotonic()
    found_by, trouble = None, None
    with trees.faulty(fault) as tree:
        try:
            found_by, _seconds = run_tests(tree, fault.tests, "-x")
            if found_by is None and all_tests:
                found_by, _seconds = run_tests(tree, directories_of(fault), "-x")
        except StaleFault as error:
            trouble = str(error)
    return Outcome(fault, found_by, time.monotonic() - began, trouble)


def check_without_faults(trees: Trees, faults: Sequence[Fault]) -> bool:
    """Return whether all tests pass as long as there is no fault; say which do not."""
    tests = sorted({test for fault in faults for test in fault.tests})
    whole = {test for test in tests if "::" not in test}
    named = [test for test in tests if test in whole or test.partition("::")[0] not in whole]
    with trees.lent() as tree:
        failed, seconds = run_tests(tree, named)
    if failed is not None:
        print(f"without any fault, {failed} fails")
        return False
    print(f"without a fault, all tests pass in {seconds:.0f} s", flush=True)
    return True


def arguments() -> argparse.Namespace:
    """Return what was asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", help="try this fault")
    parser.add_argument("--list", action="store_true", help="print the faults, try none")
    parser.add_argument(
        "--all-tests",
        action="store_true",
        help="where its own tests find nothing, run all tests of their folders",
    )
    parser.add_argument(
        "--trust", action="store_true", help="do not run the tests without a fault first"
    )
    parser.add_argument(
        "--jobs", type=int, default=JOBS_MAX, choices=range(1, JOBS_MAX + 1),
        help="how many faults to try side by side",
    )  # fmt: skip
    return parser.parse_args()


def main() -> int:
    """Return 0 when all faults that were asked for were found."""
    asked = arguments()
    faults = read_faults()
    if asked.only:
        faults = [fault for fault in faults if fault.name in asked.only]
        if unknown := sorted({*asked.only} - {fault.name for fault in faults}):
            print(f"there is no fault {unknown[0]}", file=sys.stderr)
            return 2
    if asked.list:
        for fault in faults:
            print(f"{fault.name} ({fault.kind}): {fault.file}")
        return 0
    try:
        for fault in faults:
            check(fault)
        return _try_all(faults, asked)
    except StaleFault as error:
        print(error, file=sys.stderr)
        return 2


def _try_all(faults: Sequence[Fault], asked: argparse.Namespace) -> int:
    with tempfile.TemporaryDirectory(
        prefix="armillary-mutants-", ignore_cleanup_errors=True
    ) as folder:
        trees = Trees(Path(folder), asked.jobs)
        if not asked.trust and not check_without_faults(trees, faults):
            return 1
        found = 0
        with ThreadPoolExecutor(asked.jobs) as jobs:
            tries = [jobs.submit(try_out, trees, f, all_tests=asked.all_tests) for f in faults]
            try:
                for each in tries:
                    outcome = each.result()
                    found += outcome.found_by is not None
                    print(outcome, flush=True)
            finally:
                jobs.shutdown(wait=False, cancel_futures=True)
                trees.close()
    print(f"{found} of {len(faults)} faults found")
    return 0 if found == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
