"""Traits of providers."""

from oslo_utils import timeutils

from armillary.http.call import Answer
from armillary.http.dispatch import Action
from placement.providers import names
from placement.rest import errors
from placement.rest.call import Call, Routes
from placement.rest.policies import trait as policies
from placement.rest.schemas import trait as schemas

_NAME_RULE = (
    "The trait is invalid. A valid trait must be no longer than 255 characters, start with the "
    'prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"'
)
_FILTER_RULE = (
    "Badly formatted name parameter. Expected name query string parameter in form: "
    "?name=[in|startswith]:[name1,name2|prefix]."
)
_ASSOCIATED_RULE = 'The query parameter "associated" only accepts "true" or "false"'


def index(call: Call) -> Answer:
    """List traits, by names, by prefix, or those that any provider has."""
    among, prefix = _name_filter(call.parameter("name"))
    traits = call.engine.traits.list(
        among=among, prefix=prefix, is_associated=_is_associated(call.parameter("associated"))
    )
    times = [record.updated_at for record in traits]
    body = {"traits": [record.name for record in traits]}
    return Answer(body, last_modified=max(times, default=timeutils.utcnow()))


def show(call: Call) -> Answer:
    """Check whether a trait exists."""
    return Answer(last_modified=call.engine.traits.get(call.path["name"]).updated_at)


def update(call: Call) -> Answer:
    """Create a custom trait unless it exists."""
    name = call.path["name"]
    if not names.is_custom(name):
        raise errors.bad_request(_NAME_RULE)
    record, is_new = call.engine.traits.ensure(name)
    return Answer(
        status=201 if is_new else 204,
        headers={"Location": call.location(f"/traits/{name}")},
        last_modified=record.updated_at,
    )


def delete(call: Call) -> Answer:
    """Delete a custom trait that no provider has."""
    call.engine.traits.delete(call.path["name"])
    return Answer()


def _name_filter(text: str | None) -> tuple[frozenset[str] | None, str]:
    """Return the allowed names (None: all), and the prefix."""
    if text is None:
        return None, ""
    kind, separator, value = text.partition(":")
    if separator and kind == "in":
        return frozenset(value.split(",")), ""
    if separator and kind == "startswith":
        return None, value
    raise errors.bad_request(f'{_FILTER_RULE} Got: "{text}"')


def _is_associated(text: str | None) -> bool:
    if text is None:
        return False
    if text.lower() not in {"true", "false"}:
        raise errors.bad_request(f'{_ASSOCIATED_RULE}. Got: "{text}"')
    return text.lower() == "true"


ROUTES: Routes = {
    "/traits": {"GET": Action(index, policies.LIST, since=(1, 6), query={(1, 6): schemas.LIST})},
    "/traits/{name}": {
        "GET": Action(show, policies.SHOW, since=(1, 6), status=204),
        "PUT": Action(update, policies.UPDATE, since=(1, 6), status=204),
        "DELETE": Action(delete, policies.DELETE, since=(1, 6), status=204),
    },
}
