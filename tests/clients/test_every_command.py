"""Commands of ``openstack`` about compute, and all of osc-placement, one after the other."""

import uuid
from pathlib import Path

import pytest

from tests.clients.cloud import NEWEST, OLDER, Cloud, needs

pytestmark = pytest.mark.long

COMPUTE = """
flavor create --vcpus 2 --ram 128 --disk 1 --property a=b --description d every-large
flavor set --property c=d every-large
flavor unset --property c every-large
flavor show every-large
flavor list --all --long
flavor create --vcpus 2 --ram 128 --disk 2 --ephemeral 1 --swap 64 --rxtx-factor 2.0 --private \
--project admin every-private
flavor list --private --long
flavor set --description d --no-property --property x=y every-private
flavor unset --project admin every-private
flavor delete every-private
server create --flavor every-tiny --image every-empty --nic none --wait --tag t every
server show every
server show --topology every
server add security group every default
server list --long
server list --changes-since 2020-01-01T00:00:00Z --availability-zone nova --flavor every-tiny
server list --ip 127 --name every --status ACTIVE --tags t
server list --sort-column Name --limit 1
--os-compute-api-version 2.73 server list --locked
server list --no-name-lookup --key-name none --instance-name every
server list --deleted --changes-before 2100-01-01T00:00:00Z
server list --status SOFT_DELETED --host sim-1
server list --project admin --user admin --reservation-id r-1 --unlocked
server set --property z=1 --name every2 --description new --tag u every
server unset --property z --tag u every2
server set --name every every2
server set --tag v every
server set --hostname other every
server set --password new every
server unset --description every
server lock --reason mine every
server unlock every
server pause every
server unpause every
server suspend every
server resume every
server stop every
server start every
server reboot --hard --wait every
server shelve --wait every
server unshelve --wait every
server rescue every
server unrescue every
server resize --flavor every-large --wait every
server resize confirm every
server rebuild --wait --image every-empty every
server rebuild --wait --name every --description d --property r=1 --image every-empty every
server image create --name every-image --wait every
server backup create --name every-backup --type daily --rotate 1 --wait every
server migrate --wait every
server migration confirm every
server migrate --live-migration --wait every
server migration list --server every
server event list every
server event list --limit 5 --changes-since 2020-01-01T00:00:00Z every
server migration list --project admin --user admin --limit 3
server event list --long --changes-before 2100-01-01T00:00:00Z every
server migration list --type evacuation --changes-before 2100-01-01T00:00:00Z
server migration list --type resize --status confirmed --changes-since 2020-01-01T00:00:00Z
server shelve --offload --wait every
server unshelve --no-availability-zone --wait every
server list --availability-zone nova --vm-state active --power-state running --not-tags none
server volume list every
--os-compute-api-version 2.42 host list
--os-compute-api-version 2.42 host show sim-1
console log show every
console log show --lines 2 every
server group create --policy anti-affinity --rule max_server_per_host=2 every-group
server group list --long
server group list --all-projects --limit 1 --offset 0
server group show every-group
server group delete every-group
keypair create every-key
keypair list
keypair show every-key
keypair delete every-key
keypair create --type ssh every-typed
keypair list --user admin
keypair delete every-typed
aggregate create --property k=v every-agg
aggregate add host every-agg sim-1
aggregate set --property l=m every-agg
aggregate show every-agg
aggregate cache image every-agg every-empty
aggregate unset --property l every-agg
aggregate list --long
aggregate remove host every-agg sim-1
aggregate set --name every-agg2 --zone every-zone --no-property every-agg
aggregate delete every-agg2
availability zone list --compute --long
compute service list --long
compute service set --disable --disable-reason x sim-2 nova-compute
compute service set --enable sim-2 nova-compute
compute service set --down sim-2 nova-compute
compute service set --up sim-2 nova-compute
compute service list --long --host sim-1 --service nova-compute
hypervisor list --long
hypervisor list --matching sim
hypervisor list --limit 1
hypervisor show sim-1
--os-compute-api-version 2.87 hypervisor stats show
quota set --cores 60 admin
quota show --usage
quota show --default
quota delete --compute admin
quota list --compute
usage list
usage list --start 2020-01-01 --end 2100-01-01
usage show
usage show --project admin --start 2020-01-01
limits show --absolute
limits show --absolute --reserved
limits show --rate
image list --long
image delete every-image
image delete every-backup
server delete --wait every
flavor delete every-large
"""
"""Commands about the server "every", in their order."""

PLACEMENT = """
resource class create CUSTOM_EVERY
resource class set CUSTOM_EVERY2
resource class list
resource class show CUSTOM_EVERY
resource provider create --uuid {provider} every-provider
resource provider set --name every-renamed {provider}
resource provider list --name every-renamed
resource provider show --allocations {provider}
resource provider inventory set --resource VCPU=8 --resource CUSTOM_EVERY=4 {provider}
resource provider inventory class set --total 16 {provider} VCPU
resource provider inventory list {provider}
resource provider inventory show {provider} VCPU
resource provider usage show {provider}
trait create CUSTOM_EVERY_TRAIT
trait list --name startswith:CUSTOM_EVERY
trait show CUSTOM_EVERY_TRAIT
resource provider trait set --trait CUSTOM_EVERY_TRAIT {provider}
resource provider trait list {provider}
allocation candidate list --resource CUSTOM_EVERY=1 --required CUSTOM_EVERY_TRAIT
resource provider aggregate set --generation 3 --aggregate {aggregate} {provider}
resource provider aggregate list {provider}
resource provider allocation set --allocation rp={provider},VCPU=1,CUSTOM_EVERY=1 \
--project-id admin --user-id admin --consumer-type INSTANCE {consumer}
resource provider allocation show {consumer}
resource provider allocation unset --resource-class CUSTOM_EVERY {consumer}
resource usage show admin
resource provider allocation delete {consumer}
resource provider trait delete {provider}
resource provider inventory delete {provider} --resource-class VCPU
resource provider inventory delete {provider}
resource provider delete {provider}
trait delete CUSTOM_EVERY_TRAIT
resource class delete CUSTOM_EVERY
resource class delete CUSTOM_EVERY2
"""


def commands(text: str) -> list[str]:
    return [line for line in text.strip().splitlines() if line]


@pytest.fixture(scope="module", params=[NEWEST, OLDER])
def cloud(clouds: Path, request: pytest.FixtureRequest) -> Cloud:
    """Return a client's view of the deployment, with a flavor and an image."""
    needed = needs(request.param)
    if needed.args[0]:
        pytest.skip(needed.kwargs["reason"])
    found = Cloud(clouds, request.param)
    known = found.names("flavor", "list")
    if "every-tiny" not in known:
        found.run("flavor", "create", "--vcpus", "1", "--ram", "64", "--disk", "1", "every-tiny")
        found.run("image", "create", "--property", "img_hv_type=simulated", "every-empty")
    return found


@pytest.mark.parametrize("command", commands(COMPUTE))
def test_a_command_about_servers_works(cloud: Cloud, command: str) -> None:
    """By the newest version that the service has, which both clients can speak."""
    words = command.split()
    version = [] if words[0].startswith("--os-") else ["--os-compute-api-version", "2.96"]
    cloud.run(*version, *words)


IDS = {name: str(uuid.uuid4()) for name in ("provider", "aggregate", "consumer")}


@needs(NEWEST)
@pytest.mark.parametrize("command", commands(PLACEMENT))
def test_a_command_of_osc_placement_works(clouds: Path, command: str) -> None:
    """All that there are, by the newest version that it knows."""
    words = command.format(**IDS).split()
    Cloud(clouds, NEWEST).run("--os-placement-api-version", "1.38", *words)
