"""Commands in options: words as a shell reads them, with placeholders such as {host}."""

import re
import shlex

from oslo_config import types


class CommandTemplate(types.String):
    """Type of an option that holds a command; refuses what cannot be split into words."""

    def __call__(self, value: object) -> str:
        text = str(super().__call__(value))
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is not a command: {error}") from error
        if not words:
            raise ValueError("the command is empty; leave the option out instead")
        return text


def fill(command: str, **values: str) -> list[str]:
    """Return the command's words with ``{name}`` replaced for each value; other braces stay."""
    names = re.compile(r"\{(" + "|".join(map(re.escape, values)) + r")\}")
    return [names.sub(lambda found: values[found[1]], word) for word in shlex.split(command)]
