"""Number of values in a message, which says how much memory it takes once it is parsed.

An empty object has two characters in JSON, and becomes seventy bytes. What an unknown sender wrote
is therefore counted before it is parsed, at each level: JSON is a text in JSON twice in a message.
"""

VALUES_MAX = 4_000_000
"""Maximum number of values: those of a hundred thousand hosts, or of ten thousand new servers."""
_BEFORE_VALUES = ",[{:"


def has_too_many_values(text: str | bytes) -> bool:
    """Return whether JSON, as it is sent or decoded, may have more values than a message may."""
    if len(text) <= VALUES_MAX:
        return False
    if isinstance(text, str):
        return sum(map(text.count, _BEFORE_VALUES)) > VALUES_MAX
    return sum(map(text.count, _BEFORE_VALUES.encode())) > VALUES_MAX
