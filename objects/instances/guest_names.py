"""Host names of guests."""

import re

from objects.instance import Instance

CHARACTERS_MAX = 63


def hostname_of(instance: Instance) -> str:
    """Return a guest's host name: the one that was given, or what the instance's name allows."""
    given = None if instance.settings is None else instance.settings.hostname
    if given:
        return given
    words = re.sub(r"[^a-z0-9.-]", "", re.sub(r"[ _]", "-", instance.name.lower()))
    return words[:CHARACTERS_MAX].strip("-.") or f"server-{instance.uuid}"
