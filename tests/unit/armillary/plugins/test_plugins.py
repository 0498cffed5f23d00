"""Third parties need only ``armillary.plugins``: its names, its helpers, the page about it."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from armillary.plugins import scheduler, testing
from tests.fixtures import waiting

pytestmark = pytest.mark.sampled_tests(every=2)

ROOT = Path(__file__).parents[4]
MODULES = ("armillary.plugins.scheduler", "armillary.plugins.compute", "armillary.plugins.testing")
OURS = {
    *("api", "armillary", "compute_agent", "conductor", "objects", "placement", "programs"),
    *("rpc", "scheduler", "simulator", "tests"),
}
PAGE = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
FILES_OF_THE_PAGE = [block for block in BLOCKS if not block.startswith(" ")]


class FewInstancesFilter(scheduler.BaseHostFilter):
    def host_passes(self, host_state: Any, spec: Any) -> bool:
        return bool(host_state.num_instances < 2)

    def host_mask(self, hosts: Any, spec: Any) -> Any:
        return hosts.num_instances < self.limit

    limit = 2


class WrongFilter(FewInstancesFilter):
    limit = 3


class ShortFilter(FewInstancesFilter):
    def host_mask(self, hosts: Any, spec: Any) -> Any:
        return np.ones(1, bool)


class InstancesWeigher(scheduler.BaseHostWeigher):
    def host_weight(self, host_state: Any, spec: Any) -> float:
        return float(host_state.num_instances)

    def host_weights(self, hosts: Any, spec: Any) -> Any:
        return self.sign * hosts.num_instances

    sign = 1


class TurnedWeigher(InstancesWeigher):
    sign = -1


HOSTS = testing.a_host_table([{"num_instances": count} for count in range(4)])
SPEC = testing.a_request_spec()


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_there(name: str) -> None:
    """None is listed twice."""
    module = import_module(name)
    assert len(module.__all__) == len(set(module.__all__))
    assert all(hasattr(module, each) for each in module.__all__)


def test_compute_hosts_do_not_load_a_scheduler() -> None:
    """Drivers and monitors have a module of their own."""
    program = "import sys, armillary.plugins.compute; print('scheduler' in sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT, capture_output=True, text=True, timeout=waiting.seconds(60),
    )  # fmt: skip
    assert ended.stdout.strip() == "False", ended.stderr


def imported(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield str(node.module)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)


@pytest.mark.parametrize(
    "source",
    [
        *(
            each.read_text(encoding="utf-8")
            for each in sorted((ROOT / "tests/third_party_plugins").rglob("*.py"))
        ),
        *FILES_OF_THE_PAGE,
    ],
    ids=lambda source: source.split("\n")[0][:40],
)
def test_examples_import_from_the_stable_place_only(source: str) -> None:
    """A reader copies them."""
    ours = {name for name in imported(source) if name.partition(".")[0] in OURS}
    assert all(name.startswith("armillary.plugins") for name in ours)


def test_the_example_of_the_page_works(tmp_path: Path) -> None:
    """The plugin, then its test, each as it is printed; then again with the faster forms."""
    plugin, its_test = FILES_OF_THE_PAGE
    mask, weights = (block for block in BLOCKS if block.startswith(" "))
    (tmp_path / "test_quiet_hosts.py").write_text(its_test)
    head, weigher = plugin.split("class SmallHostWeigher")
    fast = f"{head.rstrip()}\n\n{mask}\n\nclass SmallHostWeigher{weigher}\n{weights}"
    for code in (plugin, fast.replace("from oslo_config", "import numpy as np\nfrom oslo_config")):
        (tmp_path / "quiet_hosts.py").write_text(code)
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_quiet_hosts.py"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
            timeout=waiting.seconds(60),
        )
        assert "4 passed" in ended.stdout, ended.stdout


# Helpers ------------------------------------------------------------------------------------------


def test_forms_that_agree_are_accepted() -> None:
    """Both kinds, and a table without hosts."""
    conf = testing.configuration()
    for hosts in (HOSTS, testing.a_host_table([])):
        testing.assert_filter_forms_agree(FewInstancesFilter(conf), hosts, SPEC)
        testing.assert_weigher_forms_agree(InstancesWeigher(conf), hosts, SPEC)


def test_forms_that_differ_are_told_with_the_host() -> None:
    """The first one that differs."""
    conf = testing.configuration()
    with pytest.raises(AssertionError, match="host3: host_mask says True, host_passes says False"):
        testing.assert_filter_forms_agree(WrongFilter(conf), HOSTS, SPEC)
    with pytest.raises(AssertionError, match=r"host2: host_weights says -1.0, host_weight says 1"):
        testing.assert_weigher_forms_agree(TurnedWeigher(conf), HOSTS, SPEC)


def test_a_mask_of_another_length_is_an_error_as_in_a_decision() -> None:
    """It would cost a request."""
    with pytest.raises(Exception, match="returned shape"):
        testing.assert_filter_forms_agree(ShortFilter(testing.configuration()), HOSTS, SPEC)


def test_a_host_has_what_was_given_and_defaults() -> None:
    """A misspelt attribute is told immediately."""
    ssd = testing.an_aggregate("ssd", hosts=["web"], metadata={"disk": "ssd"})
    host = testing.a_host_state([ssd], host="web", free_ram_mb=5, instance_uuids=["a"])
    assert (host.host, host.free_ram_mb, host.num_instances) == ("web", 5, 0)
    assert host.aggregates == (ssd,)
    assert host.instances == {"a"}
    with pytest.raises(ValueError, match="no attribute free_ram"):
        testing.a_host_state(free_ram=5)


def test_a_request_has_what_was_given() -> None:
    """Extra specs, image properties, any field."""
    spec = testing.a_request_spec({"a": "b"}, {"os_type": "linux"}, ignore_hosts=["host1"])
    assert spec.flavor.extra_specs == {"a": "b"}
    assert spec.image is not None
    assert spec.image.properties == {"os_type": "linux"}
    assert spec.ignore_hosts == ["host1"]
    assert testing.a_request_spec().image is None


def test_options_can_be_set() -> None:
    """By group and name."""
    conf = testing.configuration(filter_scheduler__max_instances_per_host=3)
    assert conf.filter_scheduler.max_instances_per_host == 3
