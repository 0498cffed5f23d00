"""Our configuration from a nova.conf: every option is named, and the result starts our services."""

from pathlib import Path

import pytest

from armillary import exception
from armillary.conf import loader
from programs.operator.nova.nova_files import read
from programs.operator.nova.translation import NOVA_ALL_FILTERS, Outcome, translate
from tests.unit.programs.operator.conftest import Run

NOVA_CONF = """
[DEFAULT]
transport_url = rabbit://openstack:geheim@controller
debug = true
state_path = /var/lib/nova
compute_driver = libvirt.LibvirtDriver
scheduler_available_filters = nova.scheduler.filters.all_filters
scheduler_default_filters = RetryFilter, RamFilter
scheduler_max_attempts = 5
cpu_allocation_ratio = 0.0
ram_allocation_ratio = 1.5
quota_instances = 30
rpc_response_timeout = 180
osapi-compute-workers = 3
[filter_scheduler]
enabled_filters = nova.scheduler.filters.compute_filter.ComputeFilter,SameHostFilter
weight_classes = nova.scheduler.weights.all_weighers
ram_weight_multiplier = -1.0
[keystone_authtoken]
password = geheim
[neutron]
auth_url = http://controller:5000
[pci]
passthrough_whitelist = {"vendor_id": "8086"}
passthrough_whitelist = {"vendor_id": "10de"}
"""


@pytest.fixture
def nova_conf(tmp_path: Path) -> Path:
    path = tmp_path / "nova.conf"
    path.write_text(NOVA_CONF)
    return path


def test_the_result_starts_our_services(run_manage: Run, nova_conf: Path, tmp_path: Path) -> None:
    """With Nova's values in our options; only its owner may read the passwords in it."""
    path = tmp_path / "ours.conf"
    ended = run_manage("nova", "import-config", str(nova_conf), "--output", str(path))
    assert ended.code == 3
    conf, warnings = loader.read_files([str(path)])
    assert warnings == []
    assert conf.compute.driver == ["libvirt"]
    assert conf.filter_scheduler.available_filters == ["all_filters"]
    assert conf.filter_scheduler.enabled_filters == ["ComputeFilter", "SameHostFilter"]
    assert conf.filter_scheduler.ram_weight_multiplier == -1.0
    assert (conf.scheduler.max_attempts, conf.quota.instances) == (5, 30)
    assert (conf.cpu_allocation_ratio, conf.ram_allocation_ratio) == (None, 1.5)
    assert (conf.rpc.response_timeout_seconds, conf.api.workers) == (180, 3)
    assert len(conf.pci.device_spec) == 2
    assert path.stat().st_mode & 0o077 == 0


def test_each_option_has_a_line(run_manage: Run, nova_conf: Path) -> None:
    """What became of it and why; passwords are masked."""
    ended = run_manage("nova", "import-config", str(nova_conf))
    lines = ended.err.splitlines()
    assert "dropped: [neutron] auth_url: Armillary does not use this service" in lines
    assert "renamed: [DEFAULT] quota_instances -> [quota] instances = 30" in lines
    assert any(line.startswith("decide: [DEFAULT] transport_url: ") for line in lines)
    assert "scheduler_default_filters: [filter_scheduler] enabled_filters is in" in ended.err
    assert "geheim" not in ended.err
    assert lines[-1].startswith("18 options: ")


@pytest.mark.parametrize(
    ("option", "value", "outcome", "text"),
    [
        ("scheduler_available_filters", "my.MyFilter", Outcome.DECIDE, "Install the package"),
        ("max_instances_per_host", "many", Outcome.DECIDE, "does not allow 'many'"),
        ("compute_driver", "vmwareapi.VMwareVCDriver", Outcome.DECIDE, "no driver for"),
        ("instances_path", "$state_path/instances", Outcome.DECIDE, "refers to $state_path, which"),
        ("my_ip", "$my_ip", Outcome.DECIDE, "refers to $my_ip, which refers to itself"),
        ("pci_alias", '{"name": "a"}', Outcome.DECIDE, "[pci] alias"),
        ("pci_passthrough_whitelist", '[{"devname": "e0"}]', Outcome.DECIDE, "devname is not one"),
        ("compute_monitors", "nova.compute.monitors.cpu.virt_driver, my.one", Outcome.DECIDE,
         "has the others: cpu.virt_driver"),
        ("vcpu_pin_set", "4-12", Outcome.DECIDE, "cpu_shared_set"),
        ("running_deleted_instance_action", "reap", Outcome.RENAMED, "= destroy"),
        ("running_deleted_instance_action", "shutdown", Outcome.RENAMED, "= keep"),
        ("force_config_drive", "True", Outcome.RENAMED, "[libvirt] force_config_drive = True"),
        ("auth_strategy", "noauth2", Outcome.RENAMED, "[api] auth_strategy = noauth"),
        ("something", "else", Outcome.DROPPED, "no part of Armillary reads it"),
    ],
)  # fmt: skip
def test_values_that_mean_something_else_are_not_kept(
    option: str, value: str, outcome: Outcome, text: str
) -> None:
    """A wrong guess would be noticed too late."""
    (one,) = translate({"DEFAULT": {option: [value]}})
    assert (one.outcome, text in one.line()) == (outcome, True), one.line()


@pytest.mark.parametrize("name", sorted(NOVA_ALL_FILTERS))
def test_all_filters_of_nova_are_all_of_ours(name: str) -> None:
    """Whatever path an old file has."""
    (one,) = translate({"filter_scheduler": {"available_filters": [name]}})
    assert one.values == ("all_filters",)


@pytest.mark.parametrize("text", ["no section", "[DEFAULT\n", None])
def test_a_file_that_is_none_is_refused(text: str | None, run_manage: Run, tmp_path: Path) -> None:
    """In one line, and no file is overwritten."""
    path = tmp_path / "other.conf"
    if text is not None:
        path.write_text(text)
    ended = run_manage("nova", "import-config", str(path))
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    path.write_text("[DEFAULT]\n")
    again = run_manage("nova", "import-config", str(path), "--output", str(path))
    assert (again.code, "exists" in again.err) == (1, True)


ODD_CONF = """
[DEFAULT]
default_log_levels = amqp=WARN,
    boto=WARN
scheduler_default_filters =
    SameHostFilter,
\tComputeFilter
max_instances_per_host = ten,
    eleven
pci_alias = {"vendor_id": "8086",
    "product_id": "10ed", "name": "nic"}
osapi_max_limit = many
osapi_max_limit = 500
[Filter_Scheduler]
ram_weight_multiplier = 2.0
[keystone_authtoken]
password = " 'secret' "
username = '"me"'
[DEFAULT]
quota_cores = 7
"""


def test_a_file_in_unusual_form_is_translated(run_manage: Run, tmp_path: Path) -> None:
    """Values of several lines, a section twice and in capitals, quotes, and an option twice."""
    odd, path = tmp_path / "odd.conf", tmp_path / "ours.conf"
    odd.write_text(ODD_CONF)
    ended = run_manage("nova", "import-config", str(odd), "--output", str(path))
    assert (ended.code, "no service starts" in ended.err) == (3, False), ended.err
    assert len(ended.err.splitlines()) == 10  # one for each option, and the sum
    conf, warnings = loader.read_files([str(path)])
    assert warnings == []
    assert conf.filter_scheduler.enabled_filters == ["SameHostFilter", "ComputeFilter"]
    assert conf.filter_scheduler.ram_weight_multiplier == 2.0
    assert "10ed" in conf.pci.alias[0]
    assert (conf.api.max_limit, conf.quota.cores) == (500, 7)
    before, after = read(odd), read(path)
    assert after["DEFAULT"] == {"default_log_levels": ["amqp=WARN,\nboto=WARN"]}
    login = {"password": [" 'secret' "], "username": ['"me"']}
    assert after["keystone_authtoken"] == before["keystone_authtoken"] == login
    assert "decide: [DEFAULT] max_instances_per_host: " in ended.err


@pytest.mark.parametrize(
    "text",
    [
        "[DEFAULT]\nram-allocation-ratio = 1.5\nram_allocation_ratio = 2.5\n",
        "[DEFAULT]\nram_allocation_ratio = 1.5\n[api]\n[DEFAULT]\nram-allocation-ratio = 2.5\n",
    ],
)
def test_an_option_in_two_spellings_has_its_last_value(text: str, tmp_path: Path) -> None:
    """As the library reads them; the report has one line for it."""
    path = tmp_path / "nova.conf"
    path.write_text(text)
    (only,) = translate(read(path))
    assert (only.outcome, only.values) == (Outcome.KEPT, ("2.5",))


def test_sections_that_differ_in_capitals_are_one(tmp_path: Path) -> None:
    """Values that may be several are joined, in the order of the file."""
    path = tmp_path / "nova.conf"
    devices = ('{"vendor_id": "8086"}', '{"vendor_id": "10de"}')
    path.write_text("[PCI]\ndevice_spec = {}\n[pci]\ndevice_spec = {}\n".format(*devices))
    (only,) = translate(read(path))
    assert (only.name, only.values) == (("pci", "device_spec"), devices)


@pytest.mark.parametrize(
    ("values", "outcomes"),
    [
        (("8086", "8086"), [Outcome.RENAMED, Outcome.DROPPED]),
        (("8086", "10de"), [Outcome.RENAMED, Outcome.DECIDE]),
    ],
)
def test_an_option_by_two_former_names_is_in_the_result_once(
    values: tuple[str, str], outcomes: list[Outcome]
) -> None:
    """If the values differ, a person has to say which one counts."""
    first, second = values
    found = translate(
        {
            "DEFAULT": {"pci_passthrough_whitelist": [f'{{"vendor_id": "{first}"}}']},
            "pci": {"passthrough_whitelist": [f'{{"vendor_id": "{second}"}}']},
        }
    )
    assert [one.outcome for one in found] == outcomes
    assert len([one for one in found if one.values and one.outcome is Outcome.RENAMED]) == 1


REFERRING = """
[DEFAULT]
my_ip = 10.0.0.5
state_path = $base/nova
base = /srv/$$
osapi_compute_listen = ${my_ip}
instances_path = $state_path/instances
logging_default_format_string = %(color)s$$ %(message)s
[keystone_authtoken]
memcached_servers = $my_ip:11211,$cache.host:11211
[serial_console]
[libvirt]
live_migration_inbound_addr = $DEFAULT.my_ip
images_rbd_pool = $unset
[cache]
host = mc1
"""


def test_values_that_refer_to_other_options_have_their_values(tmp_path: Path) -> None:
    """As the library reads them: of the same group, or of [DEFAULT], or of a named one."""
    path = tmp_path / "nova.conf"
    path.write_text(REFERRING)
    found = {one.name: one for one in translate(read(path))}
    values = {name: one.values for name, one in found.items() if one.outcome is not Outcome.DROPPED}
    assert values == {
        ("DEFAULT", "my_ip"): ("10.0.0.5",),
        ("DEFAULT", "osapi_compute_listen"): ("10.0.0.5",),
        ("DEFAULT", "instances_path"): ("/srv/$$/nova/instances",),
        ("DEFAULT", "logging_default_format_string"): ("%(color)s$$ %(message)s",),
        ("keystone_authtoken", "memcached_servers"): ("10.0.0.5:11211,mc1:11211",),
        ("libvirt", "live_migration_inbound_addr"): ("10.0.0.5",),
        ("libvirt", "images_rbd_pool"): (),
    }


def test_later_files_count(run_manage: Run, tmp_path: Path) -> None:
    """A distribution's defaults come before the site's file; what is repeated is joined."""
    base, site, ours = (tmp_path / name for name in ("base.conf", "nova.conf", "ours.conf"))
    base.write_text('[DEFAULT]\nmy_ip = 10.0.0.1\n[pci]\ndevice_spec = {"vendor_id": "10de"}\n')
    site.write_text('[pci]\ndevice_spec = {"vendor_id": "8086"}\n[DEFAULT]\nmy_ip = 10.0.0.2\n')
    ended = run_manage("nova", "import-config", str(base), str(site), "--output", str(ours))
    assert ended.code == 0, ended.err
    conf, _warnings = loader.read_files([str(ours)])
    assert (conf.my_ip, len(conf.pci.device_spec)) == ("10.0.0.2", 2)


def test_a_file_from_another_system_is_read(tmp_path: Path) -> None:
    """With a byte order mark, ends of lines of two characters, and colons."""
    path = tmp_path / "nova.conf"
    path.write_bytes(b"\xef\xbb\xbf[DEFAULT]\r\nmy_ip: 10.0.0.5\r\n; a remark\r\n")
    (one,) = translate(read(path))
    assert (one.name, one.values) == (("DEFAULT", "my_ip"), ("10.0.0.5",))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("# remarks\n\nmy_ip = 1\n\n[DEFAULT]\n", "line 3: an option stands before the first"),
        ("my_ip = 1", "line 1: an option stands before the first"),
        ("[DEFAULT]\nmy_ip\n", "line 2: No ':' or '=' found in assignment: my_ip"),
        ("[DEFAULT\n", "line 1: Invalid section (must end with ]): [DEFAULT"),
        ("[DEFAULT]\n# gr\xfc\xdfe\n", "it is not UTF-8 ("),
    ],
)
def test_a_mistake_in_a_file_is_named_with_its_line(text: str, why: str, tmp_path: Path) -> None:
    """Where an editor has to go."""
    path = tmp_path / "nova.conf"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(exception.Invalid) as caught:
        read(path)
    assert f"{path} cannot be read as nova.conf: {why}" in caught.value.message


def test_options_of_the_database_are_those_of_the_cells(tmp_path: Path) -> None:
    """As nova.conf has them; the connection is one of our own."""
    found = translate({"database": {"max_overflow": ["1000"], "connection": ["mysql://"]}})
    assert [one.ours for one in found] == [("cell_database", "max_overflow"), None]
