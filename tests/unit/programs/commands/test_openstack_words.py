"""Commands as people know them from OpenStack."""

import shlex

import pytest

from programs.commands import COMMANDS
from programs.commands.app import ClientApp
from programs.commands.openstack_words import ALIASES
from tests import builders
from tests.unit.programs.conftest import Armillary, BuildingSuperConductor

LINES = """
aggregate add host rack1 host1
aggregate cache image rack1 image1 image2
aggregate create rack1 --zone east --property ssd=true
aggregate list
aggregate remove host rack1 host1
aggregate set rack1 --name rack2 --zone west --property ssd=true
aggregate show rack1
aggregate unset rack1 --property ssd
aggregate delete rack1 rack2
availability zone list --long
compute service delete 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d
compute service list --host host1 --service nova-compute --long
compute service set host1 nova-compute --disable --disable-reason 'new disk'
compute service set --enable host1 nova-compute
compute service set --down host1 nova-compute
console log show web --lines 20
flavor create small --id 1 --ram 4096 --disk 20 --ephemeral 0 --swap 0 --vcpus 2 --public
flavor create own --ram 4G --disk 1T --private --project p1 --property hw:cpu_policy=dedicated
flavor list --all --long --min-ram 512 --min-disk 10
flavor set small --property trait:CUSTOM_SSD=required --description fast --project p1
flavor show small
flavor unset small --property trait:CUSTOM_SSD --project p1
flavor delete small
hypervisor list --matching host --long
hypervisor show host1
hypervisor stats show
limits show
allocation candidate list --resource VCPU=1 --resource MEMORY_MB=512 --required CUSTOM_A --limit 5
completion bash
migration list
resource class create CUSTOM_GOLD
resource class delete CUSTOM_GOLD
resource class list
resource class set CUSTOM_GOLD
resource class show VCPU
resource provider aggregate list p
resource provider aggregate set p 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d --generation 3
resource provider allocation delete 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d
resource provider allocation set c --allocation rp=p,VCPU=1,DISK_GB=2 --project-id p --user-id u
resource provider allocation show 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d
resource provider create pool --parent-provider p --uuid 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d
resource provider delete p
resource provider inventory delete p --resource-class VCPU
resource provider inventory list p
resource provider inventory set p --amend --resource VCPU=16 --resource VCPU:allocation_ratio=4.5
resource provider inventory show p VCPU
resource provider list --name p --resource VCPU=4 --required CUSTOM_A --forbidden CUSTOM_B
resource provider list --in-tree 7a16f6c5-c511-4e7b-91ab-0b7a9960c74d --member-of x
resource provider set p --name q --parent-provider r
resource provider show p --allocations
resource provider trait delete p
resource provider trait list p
resource provider trait set p --trait CUSTOM_A --trait CUSTOM_B
resource provider usage show p
resource usage show p1 --user-id u
usage list --start 2030-01-01 --end 2030-01-31
usage show --project p1
trait create CUSTOM_A
trait delete CUSTOM_A
trait list --name startswith:CUSTOM --associated
trait show CUSTOM_A
quota set p1 --instances 20 --cores 40 --ram 51200 --server-groups 5
quota show p1
server create --flavor small --image img --availability-zone nova:host1 --hint group=g --wait web
server create --flavor small --nic none --key-name k --description d --tag t --property a=b web
server create --flavor small --nic net-id=7a16f6c5-c511-4e7b-91ab-0b7a9960c74d --min 2 --max 3 web
server create --flavor small --host host1 --hypervisor-hostname node1 web
server delete --force --wait web
server evacuate web --host host2 --wait
server event list web
server group create apart --policy anti-affinity --rule max_server_per_host=2
server group delete apart
server group list --all-projects
server group show apart
server list --all-projects --host host1 --status ACTIVE --flavor small --image img --long
server list --project p1 --name web --limit 5 --changes-since 2030-01-31T12:00:00Z -c ID -f value
server lock web --reason busy
server migrate web --host host2
server migrate --live-migration --block-migration --host host2 --wait web
server migrate confirm web
server migration abort web 7
server migration list --server web --type live-migration --status running
server migration show web 7
server reboot --soft --wait web
server reboot --hard web
server rebuild --image img web
server resize --flavor large --wait web
server resize --confirm web
server resize confirm web
server resize revert web
server set web --name db --property role=db --tag fast
server shelve web
server show web
server start web db
server stop web db
server unlock web
server unset web --property role --tag fast
server unshelve web --availability-zone east
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_commands_of_openstack_are_understood(line: str) -> None:
    """With their options: there is nothing else to learn."""
    manager = ClientApp().command_manager
    factory, name, rest = manager.find_command(shlex.split(line))
    command = factory(ClientApp(), None, cmd_name=name)
    assert vars(command.get_parser(name).parse_args(rest))


def test_words_of_openstack_mean_commands_of_ours() -> None:
    """No name has two meanings."""
    assert set(ALIASES.values()) <= set(COMMANDS)
    assert not set(ALIASES) & set(COMMANDS)


def test_the_overview_tells_both(armillary: Armillary) -> None:
    """Ours with a summary, the others with ours."""
    out = armillary("help").out
    assert "  server group create " in out
    assert "the same in the words of OpenStack:" in out


def test_a_service_is_set_by_its_name_in_nova(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """A host may have several."""
    conductor.services.append(builders.a_service("host1"))
    words = ("compute", "service", "set", "host1", "nova-compute", "--disable")
    assert armillary(*words, "--disable-reason", "disk").code == 0
    (row,) = armillary("compute", "service", "list", "--service", "nova-compute", "-f", "json").json
    assert (row["Status"], row["Reason"]) == ("disabled", "disk")


def test_sums_of_hosts_are_shown(armillary: Armillary, conductor: BuildingSuperConductor) -> None:
    """Of what they can give, not of what the machines have."""
    conductor.services += [builders.a_service(host) for host in ("host1", "host2")]
    conductor.nodes += [builders.a_compute_node(host) for host in ("host1", "host2")]
    amounts = {"total": 8, "reserved": 1, "allocation_ratio": 4.0, "used": 6, "capacity": 28}
    conductor.usages |= {node.uuid: {"VCPU": amounts} for node in conductor.nodes}
    shown = armillary("hypervisor", "stats", "show", "-f", "json").json
    assert (shown["hosts"], shown["VCPU"]) == (2, {"used": 12, "total": 56})


def test_flavors_are_made_for_one_project(
    armillary: Armillary, conductor: BuildingSuperConductor
) -> None:
    """Amounts may have units."""
    words = ("flavor", "create", "own", "--ram", "4G", "--disk", "1T", "--private")
    shown = armillary(*words, "-f", "json").json
    assert (shown["ram_mb"], shown["disk_gb"]) == (4096, 1024)
    refused = armillary("flavor", "create", "x", "--ram", "1", "--project", "p1")
    assert (refused.code, "--project requires --private" in refused.err) == (2, True)
    with pytest.raises(SystemExit):
        armillary("flavor", "create", "x", "--ram", "1K")
