"""Changes of users, projects, roles and who has which; those of the token file are fixed."""

from api.identity import accounts
from api.identity.call import Call
from armillary import exception
from armillary.http.call import Answer, Document
from armillary.identity import passwords
from armillary.identity.accounts import Project, User

_USER_FIELDS = {
    "name": "name",
    "email": "email",
    "description": "description",
    "enabled": "is_enabled",
    "default_project_id": "default_project_id",
}
_PROJECT_FIELDS = {"name": "name", "description": "description", "enabled": "is_enabled"}


def create_user(call: Call) -> Answer:
    """Create a user, who has no role yet."""
    wanted = call.body["user"]
    user = User(id="", **_user_values(wanted))
    return _user(call, call.identity.stored.add(user))


def update_user(call: Call) -> Answer:
    """Change a user; the tokens of one that is disabled end, and do not come back."""
    values = _user_values(call.body["user"])
    user = call.identity.stored.update(User, call.path["user_id"], values)
    if not user.is_enabled:
        call.identity.end_tokens(user.id)
    return _user(call, user)


def delete_user(call: Call) -> Answer:
    """Delete a user; the tokens end."""
    call.identity.stored.remove(User, call.path["user_id"])
    return Answer()


def change_password(call: Call) -> Answer:
    """Change one's own password, which has to be known."""
    wanted, user_id = call.body["user"], call.path["user_id"]
    accounts = call.identity.accounts()
    user = accounts.users.get(user_id)
    found_id, line = (None, None) if user is None else (user.id, user.password)
    guard = call.site.guard
    with guard.attempt(user_id, found_id, call.client):
        hash_of_none = accounts.hash_for_unknown(user_id)
        if not passwords.is_right(wanted["original_password"], line or hash_of_none):
            guard.failed(user_id, found_id, call.client)
            raise exception.Unauthorized("The original password is wrong", user=user_id)
        values = {"password": passwords.hash_password(wanted["password"])}
    call.identity.stored.update(User, user_id, values)
    return Answer()


def create_project(call: Call) -> Answer:
    """Create a project, in which no user has a role yet."""
    project = Project(id="", **_project_values(call.body["project"]))
    return _project(call, call.identity.stored.add(project))


def update_project(call: Call) -> Answer:
    """Change a project."""
    values = _project_values(call.body["project"])
    return _project(call, call.identity.stored.update(Project, call.path["project_id"], values))


def delete_project(call: Call) -> Answer:
    """Delete a project; tokens for it end, its servers stay."""
    call.identity.stored.remove(Project, call.path["project_id"])
    return Answer()


def create_role(call: Call) -> Answer:
    """Create a role, for a policy that asks for it; its id is its name."""
    name = call.body["role"]["name"]
    call.identity.stored.add_role(name)
    return Answer({"role": accounts.role_document(call, name)})


def delete_role(call: Call) -> Answer:
    """Delete a role; no user has it any more."""
    call.identity.stored.remove_role(call.path["id"])
    return Answer()


def grants(call: Call) -> Answer:
    """List the roles of a user in a project."""
    found = [accounts.role_document(call, role) for role in _roles(call)]
    return Answer(accounts.listed(call, "roles", found))


def check_grant(call: Call) -> Answer:
    """Answer whether a user has a role in a project."""
    if call.path["role_id"] not in _roles(call):
        raise exception.AccountNotFound(kind="role assignment", account=call.path["role_id"])
    return Answer()


def grant(call: Call) -> Answer:
    """Give a user a role in a project."""
    role = call.path["role_id"]
    if role not in call.identity.accounts().roles:
        raise exception.AccountNotFound(kind="role", account=role)
    if role not in _roles(call):
        call.identity.stored.grant(call.path["user_id"], call.path["project_id"], role)
    return Answer()


def revoke(call: Call) -> Answer:
    """Take a role in a project from a user."""
    _roles(call)
    ids = [call.path[name] for name in ("user_id", "project_id", "role_id")]
    call.identity.stored.revoke(*ids)
    return Answer()


def _roles(call: Call) -> tuple[str, ...]:
    """Return the roles of the path's user in the path's project."""
    known = call.identity.accounts()
    user = known.users.get(call.path["user_id"])
    if user is None:
        raise exception.AccountNotFound(kind="user", account=call.path["user_id"])
    if call.path["project_id"] not in known.projects:
        raise exception.AccountNotFound(kind="project", account=call.path["project_id"])
    return user.roles.get(call.path["project_id"], ())


def _given(names: dict[str, str], wanted: Document) -> Document:
    return {field: wanted[name] for name, field in names.items() if name in wanted}


def _user_values(wanted: Document) -> Document:
    values = _given(_USER_FIELDS, wanted)
    if wanted.get("password") is not None:
        values["password"] = passwords.hash_password(wanted["password"])
    return values


def _project_values(wanted: Document) -> Document:
    values = _given(_PROJECT_FIELDS, wanted)
    if "description" in values:
        values["description"] = values["description"] or ""
    return values


def _user(call: Call, user: User) -> Answer:
    return Answer({"user": accounts.user_document(call, user)})


def _project(call: Call, project: Project) -> Answer:
    return Answer({"project": accounts.project_document(call, project)})
