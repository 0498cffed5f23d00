"""The base of all versioned objects: namespace, registry, remotable binding, plain conversion."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Self

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields as ovo_fields

remotable = ovo.remotable

_SCALARS = (str, int, float, type(None))
_UNSET = object()


@dataclasses.dataclass(frozen=True)
class Binding:
    """Where the remotable methods of an object run; exactly one of the two is set.

    ``indirection`` sends ``object_action`` to the conductor; ``store`` does the work here, in the
    conductor that owns the database.
    """

    indirection: Any = None
    store: Any = None


class ArmillaryObjectRegistry(ovo.VersionedObjectRegistry):
    """Registry of all objects; the newest version of each is also found by its name."""


class ArmillaryObject(ovo.VersionedObject):
    """Root of all objects. Not thread-safe; one owner at a time."""

    OBJ_SERIAL_NAMESPACE = "armillary_object"
    OBJ_PROJECT_NAMESPACE = "armillary"

    store: Any = None
    """What the body of a remotable method calls; set by :meth:`bind` in the owning conductor."""

    def bind(self, binding: Binding) -> Self:
        """Say where remotable methods of this object, and of those inside it, run."""
        self.indirection_api = binding.indirection
        self.store = binding.store
        for name in self.fields:
            if not self.obj_attr_is_set(name):
                continue
            value = getattr(self, name)
            for item in value if isinstance(value, list) else (value,):
                if isinstance(item, ArmillaryObject):
                    item.bind(binding)
        return self

    @classmethod
    def primitive_key(cls, field: str) -> str:
        """Return the key of the wire form that holds name, version, data and so on."""
        return cls._obj_primitive_key(field)

    @classmethod
    def is_primitive(cls, value: Mapping[str, Any]) -> bool:
        """Return whether a mapping is the wire form of one of our objects."""
        return cls.primitive_key("name") in value

    @classmethod
    def from_values(cls, values: Mapping[str, Any] | None = None, **more: Any) -> Self:
        """Make an object from plain values, with no change pending; other keys are ignored."""
        merged = {**(values or {}), **more}
        made = cls(**{key: value for key, value in merged.items() if key in cls.fields})
        made.obj_set_defaults_quietly()
        made.obj_reset_changes(recursive=False)
        return made

    def obj_set_defaults_quietly(self) -> None:
        """Set defaults of unset fields that have one, without marking them as changed."""
        for name, field in self.fields.items():
            if self.obj_attr_is_set(name):
                continue
            if field.default is not ovo_fields.UnspecifiedDefault:
                if isinstance(field.default, _SCALARS):
                    setattr(self, f"_obj_{name}", field.default)  # as it is: it is what it is for
                else:
                    setattr(self, name, copy.deepcopy(field.default))
            elif field.nullable:
                setattr(self, f"_obj_{name}", None)

    def obj_attr_is_set(self, attrname: str) -> bool:
        """Tell whether a field has a value; a shorter way to what the library does very often."""
        if attrname in self.fields:
            return f"_obj_{attrname}" in self.__dict__
        return bool(super().obj_attr_is_set(attrname))

    @classmethod
    def _obj_from_primitive(cls, context: Any, objver: str, primitive: dict[str, Any]) -> Self:
        """Set newer fields of what an older peer sent, or stored, to their defaults."""
        made: Self = super()._obj_from_primitive(context, objver, primitive)
        if objver != cls.VERSION:
            changed = made.obj_what_changed()
            made.obj_set_defaults_quietly()
            made.obj_reset_changes([*made.obj_what_changed() - changed], recursive=False)
        return made

    def to_plain(self) -> dict[str, Any]:
        """Return the set fields as JSON-ready values; nested objects become plain dicts."""
        return {
            name: _plain(self, name, getattr(self, name))
            for name in self.fields
            if self.obj_attr_is_set(name)
        }

    def is_equal(self, other: ArmillaryObject, *, but: Collection[str] = ()) -> bool:
        """Tell whether both are of one class and have the same fields set to equal values.

        The fields named in ``but`` do not count.
        """
        if self is other:
            return True
        mine, others = self.__dict__, other.__dict__
        return type(self) is type(other) and all(
            _are_equal(mine.get(f"_obj_{name}", _UNSET), others.get(f"_obj_{name}", _UNSET))
            for name in self.fields
            if name not in but
        )

    def with_values(self, **values: Any) -> Self:
        """Return a copy with these fields changed."""
        made = self.obj_clone()
        for name, value in values.items():
            setattr(made, name, value)
        made.indirection_api = self.indirection_api
        made.store = self.store
        return made


def _plain(holder: ArmillaryObject, name: str, value: Any) -> Any:
    if isinstance(value, ArmillaryObject):
        return value.to_plain()
    if isinstance(value, list) and value and isinstance(value[0], ArmillaryObject):
        return [item.to_plain() for item in value]
    return holder.fields[name].to_primitive(holder, name, value)


def _are_equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, ArmillaryObject):
        return isinstance(other, ArmillaryObject) and one.is_equal(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return bool(one == other)


def by_key(objects: Iterable[Any], key: str) -> dict[Any, Any]:
    """Index objects by one of their fields."""
    return {getattr(item, key): item for item in objects}
