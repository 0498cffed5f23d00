"""Extra specs: what a flavor requires besides its size."""

from collections.abc import Mapping

from api.call import Call
from api.policies.flavors import extra_spec as policies
from api.schemas.flavors import extra_spec as schemas
from armillary import exception
from armillary.http.call import Answer
from armillary.http.dispatch import Action, Routes
from armillary.http.validation import invalid
from objects import numa
from objects.extra_specs import extra_specs
from objects.flavor import Flavor


def index(call: Call) -> Answer:
    """List a flavor's extra specs."""
    return Answer({"extra_specs": _specs(call)})


def show(call: Call) -> Answer:
    """Show one extra spec of a flavor."""
    key = call.path["key"]
    return Answer({key: _require(call, _specs(call))})


def create(call: Call) -> Answer:
    """Set extra specs of a flavor; others are kept."""
    given = _texts(call.body["extra_specs"])
    _check(given, "extra_specs.")
    flavor = _flavor(call)
    specs = {**flavor.extra_specs, **given}
    _check_together(flavor, specs, given)
    _change(call, given)
    return Answer({"extra_specs": given})


def update(call: Call) -> Answer:
    """Set one extra spec of a flavor.

    Its combination with others is not validated, since they are set one by one.
    """
    key = call.path["key"]
    given = _texts(call.body)
    if key not in given:
        raise invalid(next(iter(given)), key, f"The only field must be '{key}', as in the path")
    _check(given)
    _change(call, given)
    return Answer(given)


def delete(call: Call) -> Answer:
    """Delete one extra spec of a flavor."""
    _require(call, _specs(call))
    _change(call, {call.path["key"]: None})
    return Answer()


def _texts(specs: Mapping[str, str | float]) -> dict[str, str]:
    """Return extra specs with all values as text: clients may send numbers."""
    return {key: str(value) for key, value in specs.items()}


def _flavor(call: Call) -> Flavor:
    return call.conductor.get_flavor(call.context, call.path["flavor_id"])


def _specs(call: Call) -> dict[str, str]:
    return _flavor(call).extra_specs


def _check(specs: Mapping[str, str], parent: str = "") -> None:
    """Reject extra specs that are invalid on their own."""
    for key, rule in extra_specs.mistakes(specs):
        raise invalid(f"{parent}{key}", specs[key], rule)


def _check_together(flavor: Flavor, specs: dict[str, str], given: Mapping[str, str]) -> None:
    """Reject CPU and NUMA specs that no server of the flavor could satisfy, if any are given."""
    if not any(key.startswith("hw:") for key in given):
        return
    try:
        numa.topology_of(flavor.with_values(extra_specs=specs), None)
    except exception.InvalidNUMATopology as error:
        key = error.kwargs["key"]
        raise invalid(f"extra_specs.{key}", specs.get(key, ""), error.message) from error


def _change(call: Call, changes: Mapping[str, str | None]) -> None:
    call.conductor.change_extra_specs(call.context, call.path["flavor_id"], dict(changes))


def _require(call: Call, specs: dict[str, str]) -> str:
    key = call.path["key"]
    if key not in specs:
        raise exception.NotFound(what=f"Extra spec {key} of flavor {call.path['flavor_id']}")
    return specs[key]


ROUTES: Routes[Call] = {
    "/v2.1/flavors/{flavor_id}/os-extra_specs": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER),
        "POST": Action(create, policies.CREATE, schemas.INDEX_ANSWER, body=schemas.CREATE),
    },
    "/v2.1/flavors/{flavor_id}/os-extra_specs/{key}": {
        "GET": Action(show, policies.SHOW, schemas.PAIR_ANSWER),
        "PUT": Action(update, policies.UPDATE, schemas.PAIR_ANSWER, body=schemas.UPDATE),
        "DELETE": Action(delete, policies.DELETE),
    },
}
