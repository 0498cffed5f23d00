"""Write docs/rpc-reference.md from the RPC declarations; with --check, say if it is old."""

import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

from rpc.callers import Caller
from rpc.interface import Idempotent, Interface, Method
from rpc.wire.dataclass_codec import dataclasses_in
from tools.generated_page import write_or_check

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("docs/rpc-reference.md")
SERVICES = ("api", "compute_agent", "conductor", "placement", "scheduler")
"""Packages with declarations, in modules named ``interface``."""

HEAD = """\
# RPC interfaces

<!-- Generated from the declarations in `interface.py` of each service by `make samples`. -->

Who may send what to whom. A *call* is answered by one server, a *cast* goes to one without an
answer, a *fanout* goes to all servers of the topic; casts and fanouts may be lost. Every message
may arrive twice. A caller that does not know the outcome of a call may repeat it, unless the call
is marked as not repeatable. How to add a method: [checklist](contributing/checklist-rpc-method.md).
"""

_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
_ROLE = re.compile(r":\w+:`~?(?P<name>[^`]+)`")


def interfaces() -> list[type[Interface]]:
    """Return all declared interfaces, by topic."""
    found = {each.TOPIC: each for module in _modules() for each in _declared_in(module)}
    return [found[topic] for topic in sorted(found)]


def _modules() -> Iterator[str]:
    for service in SERVICES:
        for path in sorted((ROOT / service).rglob("interface.py")):
            yield ".".join(path.relative_to(ROOT).with_suffix("").parts)


def _declared_in(module: str) -> Iterator[type[Interface]]:
    for member in vars(importlib.import_module(module)).values():
        if (
            inspect.isclass(member)
            and issubclass(member, Interface)
            and member.__module__ == module
        ):
            yield member


def page() -> str:
    """Return the whole page."""
    return "\n".join([HEAD, *map(_section, interfaces())])


def _section(interface: type[Interface]) -> str:
    facts = (
        f"Topic `{interface.TOPIC}`, version {interface.VERSION}, served by {interface.SERVED_BY}"
    )
    if interface.ADDRESSED_BY is not None:
        facts += f"; `{interface.ADDRESSED_BY}` names the server"
    lines = [
        f"## {interface.__name__}",
        "",
        f"*{facts}.* Declared in `{interface.__module__.replace('.', '/')}.py`.",
        "",
        _markdown(inspect.getdoc(interface) or ""),
        "",
    ]
    return "\n".join([*lines, *map(_entry, interface.METHODS.values()), *_data(interface)])


def _data(interface: type[Interface]) -> Iterator[str]:
    """Return the dataclasses of an interface with their fields, by name."""
    found: dict[str, type] = {}
    waiting = [hint for each in interface.METHODS.values() for hint in each.hints.values()]
    while waiting:
        for each in dataclasses_in(waiting.pop()):
            if each.__name__ not in found:
                found[each.__name__] = each
                waiting.extend(get_type_hints(each).values())
    if found:
        yield "### Data\n"
    for name in sorted(found):
        yield f"`{name}`: {_markdown(inspect.getdoc(found[name]) or '')}\n"
        for field in dataclasses.fields(found[name]):
            yield f"- `{field.name}: {_type(field.type)}`{_default(field)}"
        yield ""


def _default(field: dataclasses.Field[Any]) -> str:
    is_required = field.default is field.default_factory is dataclasses.MISSING
    return "" if is_required else ", optional"


def _entry(method: Method) -> str:
    return "\n".join(
        [
            f"### {method.name}",
            "",
            f"`{method.name}({_parameters(method)}) -> "
            f"{_type(method.signature.return_annotation)}`",
            "",
            f"*{'; '.join(_facts(method))}.*",
            "",
            _markdown(method.contract),
            "",
        ]
    )


def _parameters(method: Method) -> str:
    parameters = list(method.signature.parameters.values())[2:]  # after self and context
    named = [each.replace(annotation=_type(each.annotation)) for each in parameters]
    return str(inspect.Signature(named)).strip("()").replace("'", "")


def _type(annotation: Any) -> str:
    """Return an annotation as it is written in the code, without the modules of its types."""
    if isinstance(annotation, str):
        return annotation
    return _MODULES.sub("", inspect.formatannotation(annotation))


def _facts(method: Method) -> Iterator[str]:
    yield method.kind.value.capitalize()
    yield f"by {', '.join(map(_caller, method.callers))}"
    if method.since != "1.0":
        yield f"since {method.since}"
    for name, since in method.newer_arguments.items():
        yield f"`{name}` since {since}"
    if method.timeout_seconds is not None:
        yield f"times out after {method.timeout_seconds:g} s"
    if method.idempotent is not Idempotent.BY_NATURE:
        yield f"idempotent {method.idempotent.value}"


def _caller(caller: Caller) -> str:
    if caller.argument is None:
        return caller.role
    where = caller.argument if caller.field is None else f"{caller.argument}.{caller.field}"
    return f"{caller.role} (`{where}` is its scope)"


def _markdown(text: str) -> str:
    return _ROLE.sub(lambda match: f"`{match['name']}`", text).replace("``", "`")


def main() -> int:
    """Return 0 when the page is, or has been brought, up to date."""
    return write_or_check(ROOT / PAGE, page, __doc__)


if __name__ == "__main__":
    sys.exit(main())
