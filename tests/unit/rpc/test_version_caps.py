"""Caps: what stands in ``[upgrade_levels]``, what services say about themselves, what fits."""

import pytest
from oslo_config import cfg

from armillary.conf import rpc as rpc_options
from rpc import version_caps
from rpc.version_caps import ConfiguredCap, OldestServices
from tests.fixtures.configuration import parsed_conf
from tests.fixtures.made_up_releases import NEW, OLD

pytestmark = pytest.mark.usefixtures("two_releases")


@pytest.fixture
def levels() -> cfg.ConfigOpts:
    return parsed_conf(rpc_options)


def cap(conf: cfg.ConfigOpts, oldest: OldestServices, interface: str = "scheduler") -> str | None:
    return ConfiguredCap.by_oldest(conf, interface, oldest).of(None)


@pytest.mark.parametrize(
    ("limit", "version", "may"),
    [(None, "1.9", True), ("1.2", "1.2", True), ("1.10", "1.9", True), ("1.2", "1.3", False),
     ("2.0", "1.0", False)],
    ids=["none", "same", "ten-is-more-than-nine", "newer", "another-major"],
)  # fmt: skip
def test_what_fits_under_a_cap(limit: str | None, version: str, may: bool) -> None:
    """The same major version, and no newer minor one."""
    assert version_caps.fits(limit, version) == may


def test_auto_is_what_the_oldest_service_serves(levels: cfg.ConfigOpts) -> None:
    """And it follows when that one is upgraded."""
    for interface in ("scheduler", "placement"):
        levels.set_override(interface, "auto", group="upgrade_levels")
    oldest = OldestServices()
    oldest.take({"scheduler": OLD, "placement": NEW})
    assert (cap(levels, oldest), cap(levels, oldest, "placement")) == ("1.0", "1.1")
    oldest.take({"scheduler": NEW})
    assert cap(levels, oldest) == "1.1"


def test_no_peer_is_known_and_nothing_is_capped(levels: cfg.ConfigOpts) -> None:
    """There is no peer yet that would not understand."""
    levels.set_override("scheduler", "auto", group="upgrade_levels")
    assert cap(levels, OldestServices()) is None


@pytest.mark.parametrize("level", [None, "1.0"])
def test_what_is_set_holds_whatever_services_say(levels: cfg.ConfigOpts, level: str | None) -> None:
    """A number is the operator's word, and none is, too."""
    levels.set_override("scheduler", level, group="upgrade_levels")
    oldest = OldestServices()
    oldest.take({"scheduler": NEW})
    assert cap(levels, oldest) == level


def test_a_level_is_read_at_each_message(levels: cfg.ConfigOpts) -> None:
    """It may change while a service runs."""
    made = ConfiguredCap.by_oldest(levels, "placement", OldestServices())
    assert made.of("server") is None
    levels.set_override("placement", "1.0", group="upgrade_levels")
    assert made.of("server") == "1.0"


def test_each_server_may_have_its_own(levels: cfg.ConfigOpts) -> None:
    """Agents are asked one by one, without anything being set."""
    versions = {"old": OLD, "new": NEW}
    made = ConfiguredCap(levels, "compute", lambda server: versions[str(server)])
    assert (made.of("old"), made.of("new")) == ("1.0", "1.1")


def test_a_peer_of_a_later_release_is_sent_the_newest(levels: cfg.ConfigOpts) -> None:
    """It serves at least what is known here."""
    assert ConfiguredCap(levels, "compute", lambda _server: NEW + 1).of("newer") == "1.1"


def test_the_levels_are_the_versions_of_all_releases() -> None:
    """Each with the service version that brought it, for the manual."""
    described = dict(rpc_options._levels("compute"))
    assert list(described) == ["auto", "1.0", "1.1"]
    assert described["1.1"] == "Since service version 2."


@pytest.mark.parametrize("value", ["0.9", "1.99", "liberty", ""])
def test_a_level_that_there_never_was_is_refused(levels: cfg.ConfigOpts, value: str) -> None:
    """With what is possible."""
    with pytest.raises(ValueError, match=r"auto.*1\.0"):
        levels.set_override("scheduler", value, group="upgrade_levels")
