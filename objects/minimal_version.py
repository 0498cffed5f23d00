"""Objects sent in the previous version unless one of the newest fields is used."""

from __future__ import annotations

from typing import Any, cast

from oslo_utils import versionutils

from objects import base


class MinimalVersion(base.ArmillaryObject):
    """Base of objects whose newest fields are rarely set; without them all peers can read them.

    ``NEWEST_FIELDS`` were added in ``VERSION``. If all are empty (null, false, an empty list) the
    object is sent as ``VERSION_WITHOUT``, without them.
    """

    NEWEST_FIELDS = cast("tuple[str, ...]", ())
    VERSION_WITHOUT = "1.0"

    def obj_to_primitive(
        self, target_version: str | None = None, version_manifest: dict[str, str] | None = None
    ) -> dict[str, Any]:
        """Return the wire form in the lowest version that can express it."""
        made = super().obj_to_primitive(target_version, version_manifest)
        key = self.primitive_key("version")
        data = made[self.primitive_key("data")]
        is_newest = made[key] == type(self).VERSION and _is_after(made[key], self.VERSION_WITHOUT)
        if not is_newest or any(data.get(name) for name in self.NEWEST_FIELDS):
            return made
        made[key] = self.VERSION_WITHOUT
        for name in self.NEWEST_FIELDS:
            data.pop(name, None)
        return made


def _is_after(version: str, other: str) -> bool:
    one, two = map(versionutils.convert_version_to_tuple, (version, other))
    return bool(one > two)
