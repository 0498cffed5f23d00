"""Conditions on names, as lists of servers search for them."""

import re

import sqlalchemy as sa
from sqlalchemy.sql.elements import SQLCoreOperations

CHARACTERS_MAX = 255
QUANTIFIERS_MAX = 2
"""Maximum number of ``*``, ``+`` and ``?``: regular expressions that backtrack stay fast."""

_ITEM = r"(?:[\w .,:@/-]|\\[^\w\s]|\[\^?(?:[0-9]-[0-9]|[a-z]-[a-z]|[A-Z]-[A-Z]|[\w .,:@/])+-?\])"
_PATTERN = re.compile(rf"\^?(?:{_ITEM}[*+?]?)*\$?")
_QUANTIFIER = re.compile(r"(?<!\\)[*+?]")


def is_pattern(text: str) -> bool:
    """Return whether a text is a regular expression that every database can search for safely.

    That is one without groups, alternatives and repeated counts; any other is a part of the name.
    """
    if len(text) > CHARACTERS_MAX or len(_QUANTIFIER.findall(text)) > QUANTIFIERS_MAX:
        return False
    try:
        re.compile(text)
    except re.error:
        return False
    return _PATTERN.fullmatch(text) is not None


def matches(name: SQLCoreOperations[str], text: str) -> sa.ColumnElement[bool]:
    """Return the condition that a name contains a text or matches a pattern, in any case.

    Other texts are searched in the same way.
    """
    if is_pattern(text) and re.escape(text) != text:
        return name.regexp_match(f"(?i){text}")
    return name.icontains(text, autoescape=True)
