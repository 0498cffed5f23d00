"""Results of the checks of ``armillary-status``."""

import dataclasses
import enum


class Code(enum.IntEnum):
    """Result of a check; the highest of all is the exit code."""

    SUCCESS = 0
    WARNING = 1
    FAILURE = 2


@dataclasses.dataclass(frozen=True)
class Result:
    """Outcome of a check, with what to do unless it succeeded."""

    code: Code
    details: str = ""


SUCCESS = Result(Code.SUCCESS)
NOT_HERE = Result(Code.SUCCESS, "not checked: no [api_database] connection is configured here")
