"""Who may do what: every action, by role, for the own project and another one."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from oslo_policy import policy

from api.app import make_app
from api.call import Call
from api.identity.routes import ROUTES as IDENTITY_ROUTES
from api.image.routes import ROUTES as IMAGE_ROUTES
from api.policies import list_rules
from api.routes import ROUTES
from api.versions import MICROVERSIONS
from armillary.http.dispatch import Action, ActionByBody, actions_of
from armillary.http.microversion import HEADER, to_text
from armillary.http.openapi import operation_id
from conductor.super_conductor.interface import SuperConductorAPI
from tests import builders
from tests.fixtures.access.token_files import token_entry, write_token_file
from tests.fixtures.http_api import Api
from tests.fixtures.records.claim_records import a_claim
from tests.fixtures.stand_ins.stand_in import StandIn
from tests.fixtures.super_conductor import SuperConductor, SuperConductorClient
from tests.unit.api.conftest import make_conf

WHO = {
    "admin": ("p0", "admin"),
    "manager": ("p1", "manager"),
    "member": ("p1", "member"),
    "reader": ("p1", "reader"),
    "stranger": ("p2", "member"),
}
SERVER = builders.a_uuid()
GROUP = builders.a_uuid()
CLAIM = builders.a_uuid()

EVERYBODY = {"admin", "manager", "member", "reader", "stranger"}
READERS = {"admin", "manager", "member", "reader"}
MEMBERS = {"admin", "manager", "member"}
ADMINS = {"admin"}

# A list is about the caller's own project, so a stranger sees his own, and a reader of it, too.
ALLOWED = {
    "server-index": EVERYBODY,
    "server-detail": EVERYBODY,
    "server-show": READERS,
    "server-create": EVERYBODY - {"reader"},
    "server-delete": MEMBERS,
    "server-update": MEMBERS,
    "server_metadata-index": READERS,
    "server_metadata-show": READERS,
    "server_metadata-create": MEMBERS,
    "server_metadata-update": MEMBERS,
    "server_metadata-update_all": MEMBERS,
    "server_metadata-delete": MEMBERS,
    "server_tag-index": READERS,
    "server_tag-show": READERS,
    "server_tag-update": MEMBERS,
    "server_tag-update_all": MEMBERS,
    "server_tag-delete": MEMBERS,
    "server_tag-delete_all": MEMBERS,
    "server_action-start": MEMBERS,
    "server_action-stop": MEMBERS,
    "server_action-reboot": MEMBERS,
    "server_action-rebuild": MEMBERS,
    "server_action-resize": MEMBERS,
    "server_action-confirm_resize": MEMBERS,
    "server_action-revert_resize": MEMBERS,
    "server_action-shelve": MEMBERS,
    "server_action-unshelve": MEMBERS,
    "server_action-lock": MEMBERS,
    "server_action-trigger_crash_dump": MEMBERS,
    "server_action-unlock": MEMBERS,
    "server_action-restore": MEMBERS,
    "server_action-force_delete": MEMBERS,
    "server_action-console_output": MEMBERS,
    "server_action-change_password": MEMBERS,
    "server_action-inject_network_info": ADMINS,
    "server_action-reset_network": ADMINS,
    "remote_console-create": MEMBERS,
    "remote_console-create_vnc_console": MEMBERS,
    "remote_console-create_spice_console": MEMBERS,
    "remote_console-create_rdp_console": MEMBERS,
    "remote_console-create_serial_console": MEMBERS,
    "diagnostics-show": ADMINS,
    "server_topology-show": READERS,
    "external_event-create": ADMINS,
    "server_snapshot-create_image": MEMBERS,
    "server_snapshot-create_backup": MEMBERS,
    "server_action-pause": MEMBERS,
    "server_action-unpause": MEMBERS,
    "server_action-suspend": MEMBERS,
    "server_action-resume": MEMBERS,
    "server_action-rescue": MEMBERS,
    "server_action-unrescue": MEMBERS,
    "server_action-reset_state": ADMINS,
    "server_action-migrate": ADMINS,
    "server_action-live_migrate": ADMINS,
    "server_action-evacuate": ADMINS,
    "server_action-shelve_offload": ADMINS,
    "migration-index": ADMINS,
    "migration-index_of_server": ADMINS,
    "migration-show": ADMINS,
    "migration-abort": ADMINS,
    "migration-force_complete": ADMINS,
    "instance_action-index": READERS,
    "instance_action-show": READERS,
    "flavor-index": EVERYBODY,
    "flavor-detail": EVERYBODY,
    "flavor-show": EVERYBODY,
    "flavor-create": ADMINS,
    "flavor-update": ADMINS,
    "flavor-delete": ADMINS,
    "flavor_access-index": ADMINS,
    "flavor_access-add": ADMINS,
    "flavor_access-remove": ADMINS,
    "extra_spec-index": EVERYBODY,
    "extra_spec-show": EVERYBODY,
    "extra_spec-create": ADMINS,
    "extra_spec-update": ADMINS,
    "extra_spec-delete": ADMINS,
    "image-index": EVERYBODY,
    "image-detail": EVERYBODY,
    "image-show": EVERYBODY,
    "image-create": ADMINS,
    "image-delete": MEMBERS,
    "image_metadata-index": EVERYBODY,
    "image_metadata-show": EVERYBODY,
    "image_metadata-create": MEMBERS,
    "image_metadata-update_all": MEMBERS,
    "image_metadata-update": MEMBERS,
    "image_metadata-delete": MEMBERS,
    "hypervisor-index": ADMINS,
    "hypervisor-detail": ADMINS,
    "hypervisor-show": ADMINS,
    "hypervisor-search": ADMINS,
    "hypervisor-list_servers": ADMINS,
    "hypervisor-statistics": ADMINS,
    "hypervisor-uptime": ADMINS,
    "host-index": ADMINS,
    "host-show": ADMINS,
    "host-update": ADMINS,
    "host-change_power": ADMINS,
    "usage_audit-index": ADMINS,
    "usage_audit-show": ADMINS,
    "usage-index": ADMINS,
    "usage-show": READERS,
    "server_attachment-show_password": READERS,
    "server_attachment-clear_password": MEMBERS,
    "claim-index": EVERYBODY,
    "claim-show": READERS,
    "claim-create": EVERYBODY - {"reader"},
    "claim-delete": MEMBERS,
    "claim-explain": READERS,
    "claim-show_quotas": READERS,
    "claim-update_quotas": ADMINS,
    "pool-index": ADMINS,
    "key_pair-index": EVERYBODY,
    "key_pair-show": EVERYBODY,
    "key_pair-create": EVERYBODY,
    "key_pair-delete": EVERYBODY,
    "extension-index": EVERYBODY,
    "extension-show": EVERYBODY,
    "quota_set-show_class": ADMINS,
    "server_attachment-list_addresses": READERS,
    "server_attachment-show_addresses": READERS,
    "server_attachment-list_interfaces": READERS,
    "server_attachment-show_interface": READERS,
    "server_attachment-attach_interface": MEMBERS,
    "server_attachment-detach_interface": MEMBERS,
    "volume_attachment-attach": MEMBERS,
    "volume_attachment-show": READERS,
    "volume_attachment-swap": ADMINS,
    "volume_attachment-detach": MEMBERS,
    "server_security_group-add": MEMBERS,
    "server_security_group-remove": MEMBERS,
    "server_attachment-list_security_groups": READERS,
    "volume_attachment-index": READERS,
    "network_proxy-list_networks": EVERYBODY,
    "network_proxy-show_network": EVERYBODY,
    "network_proxy-list_tenant_networks": EVERYBODY,
    "network_proxy-show_tenant_network": EVERYBODY,
    "network_proxy-list_security_groups": EVERYBODY,
    "network_proxy-show_security_group": EVERYBODY,
    "network_proxy-create_security_group": EVERYBODY - {"reader"},
    "network_proxy-update_security_group": EVERYBODY - {"reader"},
    "network_proxy-delete_security_group": EVERYBODY - {"reader"},
    "network_proxy-create_rule": EVERYBODY - {"reader"},
    "network_proxy-delete_rule": EVERYBODY - {"reader"},
    "network_proxy-list_floating_ips": EVERYBODY,
    "network_proxy-show_floating_ip": EVERYBODY,
    "network_proxy-create_floating_ip": EVERYBODY - {"reader"},
    "network_proxy-delete_floating_ip": EVERYBODY - {"reader"},
    "network_proxy-list_floating_ip_pools": EVERYBODY,
    "network_proxy-add_floating_ip": MEMBERS,
    "network_proxy-remove_floating_ip": MEMBERS,
    "network_proxy-add_fixed_ip": MEMBERS,
    "network_proxy-remove_fixed_ip": MEMBERS,
    "service-index": ADMINS,
    "service-update": ADMINS,
    "service-enable": ADMINS,
    "service-disable": ADMINS,
    "service-disable_with_reason": ADMINS,
    "service-force_down": ADMINS,
    "service-delete": ADMINS,
    "aggregate-index": ADMINS,
    "aggregate-create": ADMINS,
    "aggregate-show": ADMINS,
    "aggregate-update": ADMINS,
    "aggregate-delete": ADMINS,
    "aggregate-add_host": ADMINS,
    "aggregate-remove_host": ADMINS,
    "aggregate-set_metadata": ADMINS,
    "aggregate-cache_images": ADMINS,
    "availability_zone-index": EVERYBODY,
    "availability_zone-detail": ADMINS,
    "zone-index": ADMINS,
    "zone-show": ADMINS,
    "zone-create": ADMINS,
    "zone-update": ADMINS,
    "zone-delete": ADMINS,
    "zone-refresh": ADMINS,
    "server_group-index": EVERYBODY,
    "server_group-create": EVERYBODY - {"reader"},
    "server_group-show": READERS,
    "server_group-delete": MEMBERS,
    "quota_set-show": READERS,
    "quota_set-detail": READERS,
    "quota_set-defaults": EVERYBODY,
    "quota_set-update": ADMINS,
    "quota_set-update_class": ADMINS,
    "quota_set-delete": ADMINS,
    "limit-show": EVERYBODY,
    "explanation-show": READERS,
    "dry_run-create": ADMINS,
    "console_link-create": EVERYBODY,
    "fleet-index": ADMINS,
    "fleet_host-show": ADMINS,
    "fleet_host-events": ADMINS,
    "now-show": ADMINS,
    "allocation-index": ADMINS,
    "health-show": ADMINS,
    "event-follow": ADMINS,
}


def actions() -> Iterator[tuple[str, str, str | None, Action[Call]]]:
    """Yield method, path, name in the body where there is a choice, and action with a rule."""
    for path, methods in ROUTES.items():
        for name, method in methods.items():
            for action in actions_of(method):
                if action.rule is not None:
                    choice = (
                        _choice_of(method, action) if isinstance(method, ActionByBody) else None
                    )
                    yield name, path, choice, action


def _choice_of(method: ActionByBody[Call], action: Action[Call]) -> str:
    return next(name for name, known in method.actions.items() if known is action)


ACTIONS = {operation_id(action): (method, path, choice)
           for method, path, choice, action in actions()}  # fmt: skip


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Api, StandIn]:
    """Return an API that knows everybody by a token, and the client it asks with."""
    entries = [token_entry(who, who, project, [role]) for who, (project, role) in WHO.items()]
    folder = tmp_path_factory.mktemp("policies")
    path = write_token_file(folder, entries)
    conf = make_conf(folder)
    conf.set_override("auth_strategy", "token_file", group="api")
    conf.set_override("token_file", str(path), group="api")
    stand_in = StandIn()
    return Api(make_app(conf, conductor=cast("SuperConductorAPI", stand_in))), stand_in


@pytest.fixture
def api(guarded: tuple[Api, StandIn], client: SuperConductorClient) -> Api:
    api, stand_in = guarded
    stand_in.behind = client
    return api


LAST = {operation_id(action): action.until for *_, action in actions()}
"""The last version that has an action."""


@pytest.mark.parametrize("operation", sorted(ACTIONS))
def test_an_action_is_for_some_and_not_for_others(
    operation: str, api: Api, conductor: SuperConductor
) -> None:
    """The policy speaks before the body is looked at; what is another project's is not there."""
    method, path, choice = ACTIONS[operation]
    place = path.format(
        server_id=SERVER, server_group_id=GROUP, flavor_id="x", image_id="x", hypervisor_id="x",
        service_id=builders.a_uuid(), aggregate_id="1", project_id="p1", key="x", request_id="x",
        migration_id="x", tag="x", host="x", keypair="x", alias="x", network="x", quota_class="x",
        zone_name="x", host_name="x", network_id="x", group_id="x",
        rule_id="x", address_id="x", volume_id=SERVER,
        before="2030-01-01", power_action="reboot", claim_id=CLAIM, port_id="x",
    )  # fmt: skip
    body: dict[str, Any] = {} if choice is None else {"json": {choice: {}}}
    last = to_text(LAST[operation] or MICROVERSIONS.maximum)
    body["headers"] = {HEADER: f"compute {last}"}
    allowed = set()
    for who in WHO:
        conductor.servers = [builders.an_instance(uuid=SERVER, project_id="p1")]
        conductor.images = [builders.an_image("x", properties={"x": "y"})]
        conductor.groups = [builders.an_instance_group(uuid=GROUP, project_id="p1")]
        conductor.claims = {CLAIM: a_claim(CLAIM, project_id="p1")}
        answer = api.send(method, place, token=who, **body)
        if answer.status_code != 403 and not _is_hidden(answer.text):
            allowed.add(who)
    assert allowed == ALLOWED[operation]


def _is_hidden(text: str) -> bool:
    return any(f"{thing} could not be found" in text for thing in (SERVER, GROUP, CLAIM))


def test_the_table_names_every_action() -> None:
    """A new one is decided on here, too."""
    assert set(ALLOWED) == set(ACTIONS)


def test_every_rule_is_one_of_ours() -> None:
    """No route is guarded by an undefined name."""
    known = {rule.name for rule in list_rules()}
    assert {action.rule for _method, _path, _choice, action in actions()} <= known


def test_rules_are_defined_once() -> None:
    """The enforcer would refuse the second."""
    names = [rule.name for rule in list_rules()]
    assert len(names) == len(set(names))


def test_every_rule_says_where_it_is_asked() -> None:
    """The sample policy file shows the operations: they exist, and the routes' are among them."""
    tables = (ROUTES, IDENTITY_ROUTES, IMAGE_ROUTES)
    routes = {
        (method, path) for table in tables for path, methods in table.items() for method in methods
    }
    asked = {(rule, (method, path)) for method, path, _choice, a in actions() for rule in [a.rule]}
    documented = {
        (rule.name, (operation["method"], operation["path"]))
        for rule in list_rules()
        if isinstance(rule, policy.DocumentedRuleDefault)
        for operation in rule.operations
    }
    assert asked <= documented
    assert {operation for _rule, operation in documented} <= routes


def test_the_policy_file_may_let_only_the_owner_delete(
    tmp_path: Path, make_api: Callable[[], Api], conductor: SuperConductor
) -> None:
    """Rules see whose a server is: its user, not only its project."""
    (tmp_path / "policy.yaml").write_text(
        '"os_compute_api:servers:delete": "user_id:%(user_id)s"\n'
    )
    conductor.servers = [builders.an_instance(project_id="p1", user_id="alice")]
    api = make_api()
    path = f"/v2.1/servers/{conductor.servers[0].uuid}"
    assert api.delete(path, token="bob:p1").status_code == 403
    assert api.delete(path, token="alice:p1").status_code == 204
