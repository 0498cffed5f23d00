"""Print a subunit stream as JSON; run by Tempest's Python, which has the library.

usage: read_subunit.py FILE
"""

import json
import sys
from typing import Any

import subunit  # type: ignore[import-not-found]
import testtools  # type: ignore[import-not-found]

FOUND: list[dict[str, Any]] = []


def note(test: dict[str, Any]) -> None:
    """Keep what is known of a test."""
    texts = {name: value.as_text() for name, value in test["details"].items()}
    log = next((text for name, text in texts.items() if "pythonlogging" in name), "")
    FOUND.append(
        {
            "id": test["id"],
            "status": test["status"],
            "reason": texts.get("reason", ""),
            "traceback": texts.get("traceback", ""),
            "log": log,
        }
    )


with open(sys.argv[1], "rb") as stream:  # noqa: PTH123 - no more than the library needs
    result = testtools.StreamToDict(note)
    result.startTestRun()
    subunit.ByteStreamToStreamResult(stream, non_subunit_name="stdout").run(result)
    result.stopTestRun()
json.dump(FOUND, sys.stdout)
