"""Realistic nova.conf files, old and new: programs start with what import-config makes of them."""

import functools
import re
from pathlib import Path

import oslo_messaging.opts
import pytest
from keystonemiddleware import opts as keystone_opts
from oslo_config import cfg

from armillary.conf import loader
from programs.operator.nova.nova_files import read
from programs.operator.nova.translation import Outcome, Translated, lines_of, translate
from scheduler.drivers.base import NAMESPACE
from scheduler.filters import load_filters
from scheduler.plugins import loading
from scheduler.request_filters import load_request_filters
from scheduler.weights import load_weighers

FILES = sorted((Path(__file__).parents[3] / "fixtures" / "nova_confs").glob("*.conf"))
OF_LOGINS = {
    "auth_url", "username", "password", "project_name", "project_domain_name", "user_domain_name",
    "project_domain_id", "user_domain_id",
}  # fmt: skip

each_file = pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])


@functools.cache
def translated(path: Path) -> list[Translated]:
    return translate(read(path))


def written(path: Path, folder: Path) -> cfg.ConfigOpts:
    """Return the configuration of programs that read the result; there is no warning."""
    result = folder / "ours.conf"
    result.write_text("".join(f"{line}\n" for line in lines_of(translated(path))))
    conf, warnings = loader.read_files([str(result)])
    assert warnings == []
    return conf


@each_file
def test_a_scheduler_starts_with_the_result(path: Path, tmp_path: Path) -> None:
    """Each value is allowed, and the plugins that it names are there."""
    conf = written(path, tmp_path)
    assert load_filters(conf).filters
    load_weighers(conf)
    load_request_filters(conf)
    assert conf.scheduler.driver in loading.entry_points(NAMESPACE)


@each_file
def test_each_option_of_a_file_has_one_line(path: Path) -> None:
    """None is lost without a word."""
    names = re.findall(r"^([\w-]+)\s*=|^\[", path.read_text(), re.MULTILINE)
    assert {one.name[1] for one in translated(path)} == set(filter(None, names))
    dropped = (Outcome.DROPPED, Outcome.DECIDE)
    assert all(one.reason for one in translated(path) if one.outcome in dropped)


@each_file
def test_no_secret_is_told(path: Path) -> None:
    """The report is read by others, too."""
    assert not [one.line() for one in translated(path) if "geheim" in one.line()]


@each_file
def test_libraries_know_what_is_kept_for_them(path: Path) -> None:
    """What they do not read any more has to be decided."""
    known = {
        **{group: {one.name for one in found} for group, found in oslo_messaging.opts.list_opts()},
        "keystone_authtoken": OF_LOGINS.union(
            option.name for _group, found in keystone_opts.list_auth_token_opts()
            for option in found
        ),
    }  # fmt: skip
    kept = [one.ours for one in translated(path) if one.outcome is Outcome.KEPT and one.ours]
    assert not [name for name in kept if name[0] in known and name[1] not in known[name[0]]]


@pytest.mark.parametrize(
    ("group", "option", "value", "ours"),
    [
        ("DEFAULT", "compute_driver", "nova.virt.libvirt.LibvirtDriver", "libvirt"),
        ("DEFAULT", "scheduler_driver", "caching_scheduler", "caching_scheduler"),
        ("DEFAULT", "scheduler_driver", "nova.scheduler.chance.ChanceScheduler",
         "chance_scheduler"),
        ("filter_scheduler", "enabled_filters", "ComputeFilter, site.RackFilter", "ComputeFilter"),
        ("DEFAULT", "compute_driver", "fake.MediumFakeDriver", "simulated"),
        ("DEFAULT", "compute_monitors", "nova.compute.monitors.cpu.virt_driver", "cpu.virt_driver"),
        ("DEFAULT", "image_cache_manager_interval", "0", "0"),
        ("libvirt", "cpu_model", "Nehalem", "Nehalem"),
        ("pci", "passthrough_whitelist", '[{"vendor_id": "8086"}]', '[{"vendor_id": "8086"}]'),
    ],
)  # fmt: skip
def test_options_have_our_names_and_words(group: str, option: str, value: str, ours: str) -> None:
    """Of a list of classes also those beside one that is not part of Armillary."""
    (one,) = translate({group: {option: [value]}})
    assert one.values == (ours,)
