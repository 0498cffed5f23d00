"""Reading of nova.conf: one file or several, and references between options."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from armillary import exception
from armillary.conf import file_parser
from armillary.conf.former_names import Name
from armillary.logs.masking import mask_passwords

_REFERENCE = re.compile(
    r"(?P<escaped>\\\$|\$\$)|\$(?:\{(?P<braced>[a-z_][a-z0-9._]*)\}|(?P<plain>[a-z_][a-z0-9._]*))",
    re.IGNORECASE,
)


class Unresolved(Exception):
    """A reference without a value; the argument says which and why."""


def read(*paths: Path) -> file_parser.Sections:
    """Return the merged options of some files; later files take precedence. Raises Invalid."""
    sections: file_parser.Sections = {}
    for path in paths:
        try:
            file_parser.parse(path, sections)
        except (OSError, ValueError) as error:
            why = mask_passwords(getattr(error, "strerror", None) or error)
            raise exception.Invalid(reason=f"{path} cannot be read as nova.conf: {why}") from error
    return sections


def resolved(value: str, group: str, given: Mapping[Name, Sequence[str]]) -> str:
    """Return a value with the values of the options that it refers to.

    ``given`` has all options of the files. Raises Unresolved.
    """
    return _resolved(value, group, given, ())


def _resolved(
    value: str, group: str, given: Mapping[Name, Sequence[str]], seen: tuple[Name, ...]
) -> str:
    def put(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        name = _referred(match["braced"] or match["plain"], group, given)
        if name is None:
            raise Unresolved(f"{match[0]}, which the file does not set")
        if name in seen:
            raise Unresolved(f"{match[0]}, which refers to itself")
        return _resolved(given[name][-1], name[0], given, (*seen, name))

    return _REFERENCE.sub(put, value)


def _referred(text: str, group: str, given: Mapping[Name, Sequence[str]]) -> Name | None:
    """Return the option that a reference means: of the same group, or else of [DEFAULT]."""
    other, point, option = text.partition(".")
    possible = [(other, option)] if point else [(group, text), ("DEFAULT", text)]
    return next((name for name in possible if name in given), None)
