"""Base of all versioned objects: namespace, registry, wire form, plain conversion."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Self

from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import fields as ovo_fields

_SCALARS = (str, int, float, type(None))
_IMMUTABLE = frozenset({str, int, float, bool, type(None)})
_UNSET = object()
_ATTRIBUTE = "_obj_"
"""Prefix of the attributes in which oslo.versionedobjects keeps field values."""
_PLAIN: dict[type[Any], type] = {
    ovo_fields.StringField: str,
    ovo_fields.IntegerField: int,
    ovo_fields.BooleanField: bool,
    ovo_fields.FloatField: float,
}
"""Field types whose values of exactly this type need no conversion."""
_CLASSES_MAX = 1000
"""Maximum number of cached classes by name and version."""
_HOLD_OBJECTS = (ovo_fields.ObjectField, ovo_fields.ListOfObjectsField)


Primitive = dict[str, Any]
"""An object in wire form, as it is sent and stored."""


@dataclasses.dataclass(frozen=True, slots=True)
class _FieldPlan:
    """Cached facts about a field for serialisation and deserialisation."""

    name: str
    attribute: str
    field: Any
    plain: type | None
    """Values of exactly this type need no conversion."""
    is_nullable: bool
    object_name: str | None
    """Class of the object, or of those in the list, that the field holds."""


class ArmillaryObjectRegistry(ovo.VersionedObjectRegistry):
    """Registry of all objects; the newest version of each is also found by its name."""

    def registration_hook(self, cls: type[ovo.VersionedObject], index: int) -> None:
        """Install fast getters for the fields, as they are read far more often than set."""
        for name in cls.fields:
            slow = getattr(cls, name)
            setattr(cls, name, property(_reader(name), slow.fset, slow.fdel))
        if issubclass(cls, ArmillaryObject):
            cls._plans = [_plan(name, field) for name, field in cls.fields.items()]
        ArmillaryObject._classes.clear()


class DeclaredFields(ovo.VersionedObject):
    """Base of classes that declare their fields as ``name: type = Field()``.

    A class has version 1.0 until it states another one.
    """

    OBJ_SERIAL_NAMESPACE = "armillary_object"
    OBJ_PROJECT_NAMESPACE = "armillary"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the fields where oslo.versionedobjects looks for them."""
        super().__init_subclass__(**kwargs)
        declared = {
            name: value for name, value in vars(cls).items() if isinstance(value, ovo_fields.Field)
        }
        cls.fields = {**cls.fields, **declared}


class ArmillaryObject(DeclaredFields):
    """Root of all objects. Not thread-safe; one owner at a time."""

    _plans: Sequence[_FieldPlan] = ()
    _classes: ClassVar[dict[tuple[str, str], type[ovo.VersionedObject]]] = {}
    """Cache of ``obj_class_from_name``."""

    @classmethod
    def primitive_key(cls, field: str) -> str:
        """Return the key of the wire form for a part, such as name, version or data."""
        return cls._obj_primitive_key(field)

    @classmethod
    def is_primitive(cls, value: Mapping[str, Any]) -> bool:
        """Return whether a mapping is the wire form of one of our objects."""
        return cls.primitive_key("name") in value

    @classmethod
    def from_values(cls, values: Mapping[str, Any] | None = None, **more: Any) -> Self:
        """Make an object from plain values, with no changes pending; unknown keys are ignored."""
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
                    setattr(self, f"_obj_{name}", field.default)  # immutable, so no copy
                else:
                    setattr(self, name, copy.deepcopy(field.default))
            elif field.nullable:
                setattr(self, f"_obj_{name}", None)

    def obj_attr_is_set(self, attrname: str) -> bool:
        """Return whether a field has a value; a faster version of the library's method."""
        if attrname in self.fields:
            return f"_obj_{attrname}" in self.__dict__
        return bool(super().obj_attr_is_set(attrname))

    def obj_what_changed(self) -> set[str]:
        """Return the changed fields; a faster version of the library's method."""
        changes = {name for name in self._changed_fields if name in self.fields}
        for plan in self._plans:
            value = self.__dict__.get(plan.attribute) if plan.object_name else None
            if isinstance(value, ovo.VersionedObject) and value.obj_what_changed():
                changes.add(plan.name)
        return changes

    def obj_to_primitive(
        self, target_version: str | None = None, version_manifest: dict[str, str] | None = None
    ) -> Primitive:
        """Return the wire form; faster than the library for the object's own version."""
        if version_manifest or target_version not in (None, self.VERSION):
            older: Primitive = super().obj_to_primitive(target_version, version_manifest)
            return older
        values = self.__dict__
        data = {}
        for plan in self._plans:
            value = values.get(plan.attribute, _UNSET)
            if value is _UNSET:
                continue
            if value is not None and type(value) is not plan.plain:
                value = plan.field.to_primitive(self, plan.name, value)
            data[plan.name] = value
        made = {
            self.primitive_key("name"): self.obj_name(),
            self.primitive_key("namespace"): self.OBJ_PROJECT_NAMESPACE,
            self.primitive_key("version"): self.VERSION,
            self.primitive_key("data"): data,
        }
        changes = [name for name in self.obj_what_changed() if name in data]
        if changes:
            made[self.primitive_key("changes")] = changes
        return made

    @classmethod
    def obj_class_from_name(cls, objname: str, objver: str) -> type[ovo.VersionedObject]:
        """Return the class for a name and version, cached."""
        key = objname, objver
        found = ArmillaryObject._classes.get(key)
        if found is None:
            found = super().obj_class_from_name(objname, objver)
            if (
                len(ArmillaryObject._classes) < _CLASSES_MAX
            ):  # a peer may write a version in many ways
                ArmillaryObject._classes[key] = found
        return found

    @classmethod
    def _obj_from_primitive(cls, context: Any, objver: str, primitive: Primitive) -> Self:
        """Deserialise; fields that an older peer or record lacks get their defaults.

        Each value is validated as the library does, but without marking it as changed first.
        """
        made = cls()
        made._context = context
        made.VERSION = objver
        data = primitive[cls.primitive_key("data")]
        values = made.__dict__
        for plan in cls._plans:
            value = data.get(plan.name, _UNSET)
            if value is _UNSET:
                continue
            if type(value) is not plan.plain and not (value is None and plan.is_nullable):
                if plan.object_name is not None:
                    cls._refuse_others(plan, value)
                value = plan.field.from_primitive(made, plan.name, value)
                value = plan.field.coerce(made, plan.name, value)
            values[plan.attribute] = value
        changes = primitive.get(cls.primitive_key("changes"), ())
        made._changed_fields = {name for name in changes if name in cls.fields}
        if objver != cls.VERSION:
            changed = made._changed_fields
            made._changed_fields = set()
            made.obj_set_defaults_quietly()
            made._changed_fields = changed
        return made

    @classmethod
    def _refuse_others(cls, plan: _FieldPlan, value: Any) -> None:
        """Raise ValueError for the wire form of an object of another class than the field's.

        The library would make it, whatever that costs, and only then refuse it.
        """
        for each in value if isinstance(value, list) else [value]:
            name = each.get(cls.primitive_key("name")) if isinstance(each, dict) else None
            if name not in (None, plan.object_name):
                raise ValueError(f"{plan.name} must be {plan.object_name}, not {name!a:.80}")

    def to_plain(self) -> dict[str, Any]:
        """Return the set fields as JSON-ready values; nested objects become plain dicts."""
        return {
            name: _plain(self, name, getattr(self, name))
            for name in self.fields
            if self.obj_attr_is_set(name)
        }

    def is_equal(self, other: ArmillaryObject, *, but: Collection[str] = ()) -> bool:
        """Return whether both have the same class and the same fields set to equal values.

        The fields named in ``but`` are ignored.
        """
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        mine, others = self.__dict__, other.__dict__
        for name in self.fields:
            attribute = _ATTRIBUTE + name
            one, another = mine.get(attribute, _UNSET), others.get(attribute, _UNSET)
            if one is not another and name not in but and not _are_equal(one, another):
                return False
        return True

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy as the library does, three times as fast: a decision copies the spec it works on."""
        made = self.__class__()
        memo[id(self)] = made
        made._context = self._context
        for plan in self._plans:
            value = self.__dict__.get(plan.attribute, _UNSET)
            if value is _UNSET:
                continue
            if type(value) in _IMMUTABLE:
                made.__dict__[plan.attribute] = value
            else:
                setattr(made, plan.name, _copied(value, memo))
        made._changed_fields = set(self._changed_fields)
        return made

    def with_values(self, **values: Any) -> Self:
        """Return a copy with these fields changed."""
        made = self.obj_clone()
        for name, value in values.items():
            setattr(made, name, value)
        return made


def _copied(value: Any, memo: dict[int, Any]) -> Any:
    kind = type(value)
    if kind is ovo_fields.CoercedDict and _IMMUTABLE.issuperset(map(type, value.values())):
        return dict(value)
    if kind is ovo_fields.CoercedList and _IMMUTABLE.issuperset(map(type, value)):
        return list(value)
    return copy.deepcopy(value, memo)


def _plan(name: str, field: Any) -> _FieldPlan:
    return _FieldPlan(
        name=name,
        attribute=_ATTRIBUTE + name,
        field=field,
        plain=_PLAIN.get(type(field)),
        is_nullable=field.nullable,
        object_name=field.objname if isinstance(field, _HOLD_OBJECTS) else None,
    )


def _reader(name: str) -> Callable[[Any], Any]:
    attribute = _ATTRIBUTE + name

    def read(holder: Any) -> Any:
        try:
            return holder.__dict__[attribute]
        except KeyError:
            holder.obj_load_attr(name)
            return getattr(holder, attribute)

    return read


def _plain(holder: ArmillaryObject, name: str, value: Any) -> Any:
    if isinstance(value, ArmillaryObject):
        return value.to_plain()
    if isinstance(value, list) and value and isinstance(value[0], ArmillaryObject):
        return [item.to_plain() for item in value]
    return holder.fields[name].to_primitive(holder, name, value)


def _are_equal(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if isinstance(one, _SCALARS):
        return bool(one == other)
    if isinstance(one, ArmillaryObject):
        return isinstance(other, ArmillaryObject) and one.is_equal(other)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_are_equal, one, other))
    return bool(one == other)
