"""Server groups: affinity and anti-affinity between servers."""

from api.call import Call
from api.formats.links import page
from api.policies.servers import server_group as policies
from api.schemas.servers import server_group as schemas
from armillary.http.call import Answer, Document
from armillary.http.dispatch import Action, Routes
from objects.instances.instance_group import InstanceGroup


def load(call: Call) -> InstanceGroup:
    """Return the group of the path; raise ``ServerGroupNotFound``."""
    return call.conductor.get_server_group(call.context, call.path["server_group_id"])


def index(call: Call) -> Answer:
    """List the server groups of the caller's project, or of all projects."""
    all_projects = call.query.get("all_projects", False) in (True, "")
    if all_projects:
        call.authorize(policies.INDEX_ALL_PROJECTS)
    groups = call.conductor.list_server_groups(call.context, all_projects=all_projects)
    cut, marker = page(
        groups[call.query.get("offset", 0) :],
        lambda group: group.uuid,
        call.page_size,
        call.query.get("marker"),
    )
    links = {} if marker is None else {"server_groups_links": call.links.next_page(marker)}
    return Answer({"server_groups": [_show(group) for group in cut], **links})


def show(call: Call) -> Answer:
    """Show a server group."""
    return Answer({"server_group": _show(call.subject)})


def create(call: Call) -> Answer:
    """Create a server group with one policy."""
    wanted = call.body["server_group"]
    group = call.conductor.create_server_group(
        call.context, wanted["name"], _policy(wanted), _rules(wanted)
    )
    return Answer({"server_group": _show(group)})


def delete(call: Call) -> Answer:
    """Delete a server group; its members are unchanged."""
    call.conductor.delete_server_group(call.context, call.path["server_group_id"])
    return Answer()


def _policy(wanted: Document) -> str:
    """Return the policy: ``policy``, or the only one of ``policies`` in earlier versions."""
    policy: str = wanted["policy"] if "policy" in wanted else wanted["policies"][0]
    return policy


def _rules(wanted: Document) -> dict[str, str]:
    return {name: str(value) for name, value in wanted.get("rules", {}).items()}


def _show(group: InstanceGroup) -> Document:
    return {
        "id": group.uuid,
        "name": group.name,
        "policy": group.policy,
        "policies": [group.policy],
        "rules": {
            name: int(value) if value.isdecimal() else value for name, value in group.rules.items()
        },
        "members": group.members,
        "metadata": {},
        "project_id": group.project_id,
        "user_id": group.user_id,
    }


ROUTES: Routes[Call] = {
    "/v2.1/os-server-groups": {
        "GET": Action(index, policies.INDEX, schemas.INDEX_ANSWER, query=schemas.INDEX_QUERY),
        "POST": Action(create, policies.CREATE, schemas.SHOW_ANSWER, body=schemas.CREATE),
    },
    "/v2.1/os-server-groups/{server_group_id}": {
        "GET": Action(show, policies.SHOW, schemas.SHOW_ANSWER, subject=load),
        "DELETE": Action(delete, policies.DELETE, status=204, subject=load),
    },
}
