"""Key pairs: public keys of users, which servers name."""

from api.call import Call
from api.formats import times
from api.formats.integer_ids import integer_id
from api.formats.links import page
from api.handlers.servers import ssh_keys, x509_keys
from api.policies.servers import key_pair as policies
from api.schemas.servers import key_pair as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.key_pair import SSH, KeyPair

COLLECTION = "os-keypairs"
OTHER_STATUSES_SINCE = (2, 2)
"""Earlier versions answer 200 to a new key pair, and 202 to a delete."""
USERS_SINCE = (2, 10)
"""Since this version administrators may name another user."""


def load(call: Call) -> dict[str, str]:
    """Return the user whose key pairs these are, as policy target."""
    return {"user_id": _user(call)}


def index(call: Call) -> Answer:
    """List a user's key pairs."""
    found = call.conductor.list_key_pairs(call.context, _user(call))
    cut, marker = page(found, lambda each: each.name, call.page_size, call.query.get("marker"))
    body: Document = {"keypairs": [{"keypair": _brief(each)} for each in cut]}
    if marker is not None:
        body["keypairs_links"] = call.links.next_page(marker)
    return Answer(body)


def show(call: Call) -> Answer:
    """Show a key pair."""
    found = call.conductor.get_key_pair(call.context, _user(call), call.path["keypair"])
    shown = {
        **_brief(found),
        "id": integer_id(f"{found.user_id}/{found.name}"),
        "user_id": found.user_id,
        "created_at": times.microseconds(found.created_at),
        "updated_at": None,
        "deleted_at": None,
        "deleted": False,
    }
    return Answer({"keypair": shown})


def create(call: Call) -> Answer:
    """Store a public key, or make a pair and show its private key once."""
    wanted = call.body["keypair"]
    user_id = wanted.get("user_id", call.context.user_id)
    call.authorize(policies.CREATE, {"user_id": user_id})
    kind, private_key, public_key = wanted.get("type", SSH), None, wanted.get("public_key")
    if public_key is None:
        private_key, public_key = _new_pair(call, kind, user_id)
    known_by = (ssh_keys if kind == SSH else x509_keys).fingerprint(public_key)
    made = call.conductor.create_key_pair(
        call.context,
        KeyPair(user_id, wanted["name"], public_key, known_by, kind=kind),
        replace=call.is_repeat and private_key is not None,
    )
    shown = {**_brief(made), "user_id": made.user_id}
    if private_key is not None:
        shown["private_key"] = private_key
    return Answer({"keypair": shown}, status=_status(call, 200, 201))


def delete(call: Call) -> Answer:
    """Delete a key pair; servers keep its name."""
    call.conductor.delete_key_pair(call.context, _user(call), call.path["keypair"])
    return Answer(status=_status(call, 202, 204))


def _new_pair(call: Call, kind: str, user_id: str) -> tuple[str, str]:
    with call.expensive_work() as spent:
        spent.add(1)
        return ssh_keys.new_pair() if kind == SSH else x509_keys.new_pair(user_id)


def _user(call: Call) -> str:
    """Return the user: the caller, or the one whom an administrator names (since 2.10)."""
    asked = call.query.get("user_id") if call.version >= USERS_SINCE else None
    return str(asked or call.context.user_id)


def _status(call: Call, before: int, since: int) -> int:
    return since if call.version >= OTHER_STATUSES_SINCE else before


def _brief(found: KeyPair) -> Document:
    return {
        "name": found.name,
        "public_key": found.public_key,
        "fingerprint": found.fingerprint,
        "type": found.kind,
    }


ROUTES: Routes[Call] = {
    "/v2.1/os-keypairs": {
        "GET": Action(
            index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY, subject=load
        ),
        "POST": Action(
            create,
            policies.CREATE,
            schemas.CREATE_ANSWER,
            body=schemas.CREATE,
            status=201,
            subject=load,
        ),
    },
    "/v2.1/os-keypairs/{keypair}": {
        "GET": Action(
            show, policies.SHOW, schemas.SHOW_ANSWER, query=schemas.ONE_QUERY, subject=load
        ),
        "DELETE": Action(
            delete, policies.DELETE, status=204, query=schemas.ONE_QUERY, subject=load
        ),
    },
}
