"""Extra specs: what a flavor asks beyond its size."""

from __future__ import annotations

from typing import Any

from api.call import Answer, Call
from api.validation import invalid
from armillary import exception


def index(call: Call) -> Answer:
    """List a flavor's extra specs."""
    return Answer({"extra_specs": _specs(call)})


def show(call: Call) -> Answer:
    """Show one extra spec of a flavor."""
    key = call.path["key"]
    return Answer({key: _require(call, _specs(call))})


def create(call: Call) -> Answer:
    """Set extra specs of a flavor; those not named stay."""
    specs = {**_specs(call), **call.body["extra_specs"]}
    _store(call, specs)
    return Answer({"extra_specs": call.body["extra_specs"]})


def update(call: Call) -> Answer:
    """Set one extra spec of a flavor."""
    key = call.path["key"]
    if key not in call.body:
        raise invalid(next(iter(call.body)), key, f"The only field must be '{key}', as in the path")
    _store(call, {**_specs(call), **call.body})
    return Answer(dict(call.body))


def delete(call: Call) -> Answer:
    """Delete one extra spec of a flavor."""
    specs = _specs(call)
    _require(call, specs)
    _store(call, {key: value for key, value in specs.items() if key != call.path["key"]})
    return Answer()


def _specs(call: Call) -> dict[str, str]:
    return call.conductor.get_flavor(call.context, call.path["flavor_id"]).extra_specs


def _store(call: Call, specs: dict[str, Any]) -> None:
    call.conductor.update_flavor(call.context, call.path["flavor_id"], {"extra_specs": specs})


def _require(call: Call, specs: dict[str, str]) -> str:
    key = call.path["key"]
    if key not in specs:
        raise exception.NotFound(what=f"Extra spec {key} of flavor {call.path['flavor_id']}")
    return specs[key]
