"""Attributes of instances in SQL: what lists are sorted by, and filtered by exact values.

An attribute is a text, or a number, as in ``objects.instances.server_order``: nothing is an empty
text. Texts compare by code points on all engines, as in Python.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from conductor.common.cell_db import models
from conductor.common.cell_db.stored_object import stored_flag, stored_text
from objects.instances.power_states import NO_POWER_STATE, POWER_STATES
from objects.instances.server_filters import ServerFilters
from objects.instances.server_order import SortKey, SortValue
from objects.instances.server_settings import DISK_CONFIG

Expression = sa.ColumnElement[Any]
Columns = Mapping[str, Expression]

_SECONDS_LENGTH = len("2030-01-31 12:00:00")
_IN_SETTINGS = ("access_ip_v4", "access_ip_v6", "description", "key_name")
_TEXTS = (
    "availability_zone", "host", "locked_by", "name", "node", "project_id", "task_state",
    "user_id", "uuid", "vm_state",
)  # fmt: skip


class _ByCodePoint(FunctionElement[str]):
    """A text that compares by code points, whatever the collation of its column."""

    type = sa.String()
    inherit_cache = True


@compiles(_ByCodePoint)
def _as_it_is(element: _ByCodePoint, compiler: Any, **options: Any) -> str:
    return str(compiler.process(element.clauses, **options))


@compiles(_ByCodePoint, "postgresql")
def _in_postgresql(element: _ByCodePoint, compiler: Any, **options: Any) -> str:
    return f'({compiler.process(element.clauses, **options)} COLLATE "C")'


@compiles(_ByCodePoint, "mysql")
@compiles(_ByCodePoint, "mariadb")
def _in_mysql(element: _ByCodePoint, compiler: Any, **options: Any) -> str:
    return f"CAST({compiler.process(element.clauses, **options)} AS BINARY)"


class Stored(Protocol):
    """Where instances are stored: an expression for each value, null if there is none."""

    def text(self, *path: str) -> Expression:
        """Return that of a text; ``path`` leads through objects."""

    def flag(self, *path: str) -> Expression:
        """Return that of a truth value."""

    def number(self, name: str) -> Expression:
        """Return that of a number."""

    def moment(self, name: str) -> Expression:
        """Return that of a time."""


class _Rows:
    """Instances in their own table."""

    def text(self, *path: str) -> Expression:
        column = getattr(models.Instance, path[0])
        return stored_text(column, *path[1:]) if len(path) > 1 else column

    def flag(self, *path: str) -> Expression:
        column = getattr(models.Instance, path[0])
        return stored_flag(column, *path[1:]) if len(path) > 1 else column

    def number(self, name: str) -> Expression:
        column: Expression = getattr(models.Instance, name)
        return column

    moment = number


def columns_of(stored: Stored) -> Columns:
    """Return the expression of each key of ``server_order.KEYS``."""
    texts: dict[str, tuple[str, ...]] = {name: (name,) for name in _TEXTS}
    texts |= {name: ("settings", name) for name in _IN_SETTINGS}
    texts |= {"flavor": ("flavor", "flavorid"), "image": ("image", "id")}
    given, name = stored.text("settings", "hostname"), stored.text("name")
    hostname = sa.case((_comparable(given) == "", name), else_=given)
    power_state = sa.case(
        *((stored.text("power_state") == word, number) for word, number in POWER_STATES.items()),
        else_=NO_POWER_STATE,
    )
    return {
        **{key: _comparable(stored.text(*path)) for key, path in texts.items()},
        "disk_config": _comparable(
            sa.func.coalesce(stored.text("settings", "disk_config"), DISK_CONFIG)
        ),
        "hostname": _comparable(hostname),
        "config_drive": _as_number(stored.flag("settings", "config_drive")),
        "locked": _as_number(stored.flag("locked")),
        "launch_index": stored.number("launch_index"),
        "power_state": power_state,
        "created_at": _moment(stored.moment("created_at")),
        "launched_at": _moment(stored.moment("launched_at")),
        "terminated_at": _moment(stored.moment("deleted_at")),
        "updated_at": _moment(stored.moment("updated_at")),
    }


def _comparable(text: Expression) -> Expression:
    # JSON's null is the text "null" in MySQL and MariaDB; see server_order.
    is_null = sa.or_(text.is_(None), text == "null")
    return _ByCodePoint(sa.case((is_null, ""), else_=text))


def _as_number(flag: Expression) -> Expression:
    return sa.case((flag == sa.true(), 1), else_=0)


def _moment(column: Expression) -> Expression:
    text = sa.func.substr(sa.cast(column, sa.String(32)), 1, _SECONDS_LENGTH)
    return _ByCodePoint(sa.func.coalesce(text, ""))


ROWS = _Rows()
COLUMNS = columns_of(ROWS)
"""Those of the table of instances."""


def order_by(columns: Columns, sort: Sequence[SortKey] | None) -> list[sa.ColumnElement[Any]]:
    """Return the sort keys as criteria of a query."""
    return [
        columns[key.name].desc() if key.is_descending else columns[key.name].asc()
        for key in sort or ()
    ]


def comes_after(
    columns: Columns,
    sort: Sequence[SortKey] | None,
    values: Sequence[SortValue],
    if_equal: sa.ColumnElement[bool],
) -> sa.ColumnElement[bool]:
    """Return the condition that a row comes after one with these values of the sort keys.

    ``if_equal`` decides between rows with the same values.
    """
    condition = if_equal
    for key, value in reversed(list(zip(sort or (), values, strict=True))):
        column = columns[key.name]
        is_later = column < value if key.is_descending else column > value
        condition = sa.or_(is_later, sa.and_(column == value, condition))
    return condition


def conditions(stored: Stored, columns: Columns, filters: ServerFilters) -> list[Any]:
    """Return the conditions of ``filters`` on attributes that more than one place stores."""
    found = [columns[name] == value for name, value in (filters.equal or {}).items()]
    if filters.hostname is not None:
        found.append(_is_hostname(stored, filters.hostname))
    tags = stored.text("settings", "tags")
    for wanted, is_any, is_not in (
        (filters.tags, False, False),
        (filters.tags_any, True, False),
        (filters.not_tags, False, True),
        (filters.not_tags_any, True, True),
    ):
        if wanted:
            having = [_has_tag(tags, tag) for tag in wanted]
            condition = sa.or_(*having) if is_any else sa.and_(*having)
            found.append(sa.not_(condition) if is_not else condition)
    return found


def _has_tag(tags: Expression, tag: str) -> Expression:
    """Return the condition that a list of texts, as JSON, has one of them."""
    text = sa.func.coalesce(tags, "")
    # Databases keep JSON as it was sent, or in a form of their own without escapes.
    forms = {json.dumps(tag), json.dumps(tag, ensure_ascii=False)}
    return sa.or_(
        *(
            sa.func.length(sa.func.replace(text, form, "")) < sa.func.length(text)
            for form in sorted(forms)
        )
    )


def _is_hostname(stored: Stored, wanted: str) -> Expression:
    """Return the condition that a guest has this host name: the given one or that of its name."""
    given = _comparable(stored.text("settings", "hostname"))
    of_name = stored.text("name")
    for character in (" ", "_"):
        of_name = sa.func.replace(of_name, character, "-")
    is_derived = sa.and_(given == "", sa.func.lower(of_name) == wanted.lower())
    return sa.or_(given == wanted, is_derived)
