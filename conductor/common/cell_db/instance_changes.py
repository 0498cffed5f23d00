"""Changes of an instance that reach neither its host nor its resources."""

from datetime import datetime

from armillary import exception
from conductor.common.cell_db import models
from conductor.common.cell_db.stored_object import StoredObject
from objects.instances.server_changes import ServerChanges
from objects.instances.server_settings import ServerSettings

TAGS_MAX = 50
"""Maximum number of tags of a server."""


def apply(row: models.Instance, changes: ServerChanges, *, now: datetime) -> None:
    """Change a locked row. Raises QuotaExceeded (metadata), Invalid (too many tags)."""
    if changes.name is not None:
        row.name = changes.name
    if changes.metadata or changes.replaces_metadata:
        row.metadata_ = new_metadata(row.metadata_, changes)
    settings = None if row.settings is None else row.settings.load()
    row.settings = StoredObject.of(new_settings(settings, changes))
    row.updated_at = now


def undoing(row: models.Instance, changes: ServerChanges) -> ServerChanges:
    """Return the changes that undo others, which are about to be made; those of tags stay."""
    settings = ServerSettings.from_values() if row.settings is None else row.settings.load()
    is_metadata_changed = bool(changes.metadata or changes.replaces_metadata)
    return ServerChanges(
        name=None if changes.name is None else row.name,
        metadata=dict(row.metadata_) if is_metadata_changed else {},
        replaces_metadata=is_metadata_changed,
        settings={name: getattr(settings, name) for name in changes.settings},
        files=None if changes.files is None else settings.files,
    )


def new_settings(present: ServerSettings | None, changes: ServerChanges) -> ServerSettings:
    """Return settings with their changes. Raises Invalid for too many tags."""
    settings = present or ServerSettings.from_values()
    files = {} if changes.files is None else {"files": changes.files}
    return settings.with_values(**changes.settings, **files, tags=_tags(settings.tags, changes))


def forget_password(row: models.Instance) -> None:
    """Forget the administrator's password: the guest has it, or there will be no guest."""
    settings = None if row.settings is None else row.settings.load()
    if settings is not None and settings.admin_password is not None:
        row.settings = StoredObject.of(settings.without_password())


def new_metadata(present: dict[str, str], changes: ServerChanges) -> dict[str, str]:
    """Return metadata with their changes. Raises QuotaExceeded for too many."""
    merged = {**({} if changes.replaces_metadata else present), **changes.metadata}
    made = {key: value for key, value in merged.items() if value is not None}
    if 0 <= changes.metadata_items_max < len(made):
        raise exception.QuotaExceeded(
            resource="metadata_items", requested=len(made), used=0, limit=changes.metadata_items_max
        )
    return made


def _tags(present: list[str], changes: ServerChanges) -> list[str]:
    kept = [] if changes.replaces_tags else [x for x in present if x not in changes.tags_removed]
    made = list(dict.fromkeys([*kept, *changes.tags_added]))
    if len(made) > TAGS_MAX:
        raise exception.Invalid(reason=f"a server may have {TAGS_MAX} tags, not {len(made)}")
    return made
