"""Changes of a server's name, metadata, tags and settings."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ServerChanges:
    """What to change; fields that are not given stay as they are.

    ``metadata`` is merged, and null removes a key; with ``replaces_metadata`` it is the whole.
    Tags are removed before others are added; with ``replaces_tags`` all are removed. ``settings``
    are fields of ``ServerSettings`` with a text. ``files`` replaces those for the guest, if given.
    ``metadata_items_max`` is the limit of the server's project, -1 for none.
    """

    name: str | None = None
    metadata: dict[str, str | None] = field(default_factory=dict)
    replaces_metadata: bool = False
    metadata_items_max: int = -1
    tags_added: list[str] = field(default_factory=list)
    tags_removed: list[str] = field(default_factory=list)
    replaces_tags: bool = False
    settings: dict[str, str | None] = field(default_factory=dict)
    files: dict[str, str] | None = None
