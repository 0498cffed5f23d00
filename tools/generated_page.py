"""Pages of the documentation that are generated: write one, or check that it is up to date."""

import argparse
import sys
import warnings
from collections.abc import Callable
from pathlib import Path


def write_or_check(path: Path, page: Callable[[], str], description: str | None) -> int:
    """Write the page, or with ``--check`` compare it; return the exit code."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="write nothing, only compare")
    is_check = parser.parse_args().check
    warnings.filterwarnings("ignore", message=r"\s*Eventlet is deprecated")
    fresh = page()
    if not is_check:
        path.write_text(fresh, encoding="utf-8")
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == fresh:
        return 0
    print(f"docs/{path.name} is out of date: run `make samples`", file=sys.stderr)
    return 1
