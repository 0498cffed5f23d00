"""Accounts and configuration of a Tempest run."""

from pathlib import Path
from typing import Any

import yaml

from armillary.identity.passwords import hash_password

PASSWORD = "tempest"
FLAVORS = {"42": ("m1.nano", 128), "84": ("m1.micro", 192)}
"""Flavor id -> name and memory in MiB."""
IMAGES = ("00000001-0000-4000-8000-000000000000", "00000002-0000-4000-8000-000000000000")
HOSTS = 5
FILTERS = (
    "ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,ServerGroupAntiAffinityFilter,"
    "ServerGroupAffinityFilter,SameHostFilter,DifferentHostFilter"
)
CORES_MAX, RAM_MB_MAX = 80, 327680
"""Quotas of a project, all that the hosts have: some tests exceed them."""
NETWORK_NAME = "public"
"""The network that all servers have addresses in."""

# What simulated hosts can show; the rest needs guests with an operating system, or volumes.
FEATURES_ON = (
    "change_password", "pause", "suspend", "vnc_console", "spice_console", "serial_console",
    "rescue", "stable_rescue", "interface_attach", "snapshot", "personality", "config_drive",
    "enable_instance_password", "metadata_service", "resize", "live_migration", "cold_migration",
    "shelve", "shelve_migrate", "live_migrate_back_and_forth", "console_output", "disk_config",
    "hostname_fqdn_sanitization", "block_migration_for_live_migration",
)  # fmt: skip

# user, project, roles; Tempest takes the first free account that has the roles that it wants.
_ALT = [(f"alt-{n}", f"alt-p{n}", ["member"]) for n in (1, 2, 3)]
_ROLES = [(f"{role}-{n}", f"p{n}", [role]) for n in (1, 2, 3) for role in ("member", "reader")]
_ADMINS = [(f"admin-{n}", f"ap{n}", ["admin"]) for n in (1, 2, 3)]
_SERVICES = [(f"admin-service-{n}", f"sp{n}", ["service", "admin"]) for n in (1, 2)]
_MANAGERS = [(f"manager-{n}", f"p{n}", ["manager", "member"]) for n in (1, 2, 3)]
ACCOUNTS = [*_ALT, *_ROLES, *_ADMINS, *_SERVICES, *_MANAGERS]
ADMIN = ("admin-0", "ap0", ["admin"])


def write_token_file(path: Path) -> None:
    """Write the accounts as Armillary's built-in identity reads them."""
    password = hash_password(PASSWORD, n=16)
    users = [
        {"name": user, "password": password, "projects": {project: roles}}
        for user, project, roles in [ADMIN, *ACCOUNTS]
    ]
    path.write_text(yaml.safe_dump({"users": users}))


def write_accounts(path: Path) -> None:
    """Write the accounts as Tempest reads them. Alternative users are those without a role."""
    accounts: list[dict[str, Any]] = []
    for user, project, roles in ACCOUNTS:
        account: dict[str, Any] = {
            "username": user, "project_name": project, "password": PASSWORD,
            "resources": {"network": NETWORK_NAME},
        }  # fmt: skip
        if not user.startswith("alt-"):
            account["roles"] = [role for role in roles if role != "member" or len(roles) == 1]
        accounts.append(account)
    path.write_text(yaml.safe_dump(accounts))


def armillary_conf(token_file: Path, network_url: str) -> str:
    """Return the configuration of ``armillary up``."""
    return f"""[DEFAULT]
shelved_offload_time = 0
[api]
token_file = {token_file}
[identity]
endpoints = network:{network_url}
[quota]
cores = {CORES_MAX}
ram = {RAM_MB_MAX}
[filter_scheduler]
enabled_filters = {FILTERS}
"""


def tempest_conf(folder: Path, identity_url: str, newest: str) -> str:
    """Return Tempest's configuration."""
    features = "\n".join(f"{name} = true" for name in FEATURES_ON)
    user, project, _roles = ADMIN
    return f"""[DEFAULT]
log_file = tempest.log
[oslo_concurrency]
lock_path = {folder}/locks
[auth]
use_dynamic_credentials = false
test_accounts_file = {folder}/accounts.yaml
create_isolated_networks = false
admin_username = {user}
admin_project_name = {project}
admin_password = {PASSWORD}
admin_domain_name = Default
[identity]
uri_v3 = {identity_url}
auth_version = v3
region = RegionOne
[identity-feature-enabled]
api_v2 = false
[service_available]
nova = true
glance = true
neutron = true
cinder = false
swift = false
horizon = false
[validation]
run_validation = false
connect_method = fixed
[image]
region = RegionOne
[placement]
min_microversion = 1.0
max_microversion = 1.39
[compute]
image_ref = {IMAGES[0]}
image_ref_alt = {IMAGES[1]}
flavor_ref = 42
flavor_ref_alt = 84
build_interval = 1
build_timeout = 30
min_compute_nodes = {HOSTS}
min_microversion = 2.1
max_microversion = {newest}
[compute-feature-enabled]
scheduler_enabled_filters = {FILTERS}
{features}
"""
