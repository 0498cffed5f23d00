"""Every option that a page of the documentation names is registered."""

import re
from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_log import log as oslo_log
from oslo_messaging import conffixture
from oslo_middleware import cors, http_proxy_to_wsgi
from oslo_policy import opts as policy_opts
from oslo_reports import opts as report_opts
from oslo_service import opts as service_opts

from armillary.conf import former_names, register_all

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for page in (ROOT / "README.md", *ROOT.joinpath("docs").rglob("*.md"))
    if not page.name.endswith(".removal.md")
)

GROUP = r"\[(?P<group>[A-Za-z_]+)\]"
NAME = r"[a-z][a-z0-9_]+"
IN_A_SENTENCE = re.compile(rf"`{GROUP} (?P<names>{NAME}(?:, {NAME})*)(?: = [^`]*)?`")
IN_A_BLOCK = re.compile(rf"^    (?:{GROUP}|(?P<name>{NAME}) = .*)$")


def options_in(page: Path) -> set[tuple[str, str]]:
    """Return group and name of each option in a sentence or in an indented configuration file."""
    found = set()
    group = ""
    for line in page.read_text().splitlines():
        for match in IN_A_SENTENCE.finditer(line):
            found |= {(match["group"], name) for name in match["names"].split(", ")}
        block = IN_A_BLOCK.match(line)
        if not line.startswith("    "):
            group = ""
        elif block and block["group"]:
            group = block["group"]
        elif block and group:
            found.add((group, block["name"]))
    return found


DOCUMENTED = sorted({(page, *option) for page in PAGES for option in options_in(page)})

COMMENT_BEHIND = re.compile(rf"^    (?:{GROUP}|{NAME} = .*) +# ")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_comment_stands_behind_an_option(page: Path) -> None:
    """A configuration file has comments on lines of their own: else they are part of the value."""
    lines = page.read_text().splitlines()
    assert not [line for line in lines if COMMENT_BEHIND.match(line)]


@pytest.fixture(scope="module")
def conf() -> cfg.ConfigOpts:
    """Return a configuration with our options and those of the libraries."""
    conf = cfg.ConfigOpts()
    conffixture.ConfFixture(conf)
    register_all(conf)
    service_opts.register_service_opts(conf)
    report_opts.set_defaults(conf)
    policy_opts.set_defaults(conf)
    oslo_log.register_options(conf)
    conf.register_opts(cors.OPTS, group="cors")
    conf.register_opts(http_proxy_to_wsgi.OPTS, group="oslo_middleware")
    conf([], default_config_files=[], default_config_dirs=[])
    return conf


def test_options_are_found() -> None:
    """In a sentence, in a list of several, in a configuration file."""
    names = {(group, name) for _page, group, name in DOCUMENTED}
    assert ("conductor", "lease_seconds") in names
    assert ("cell", "transport_url") in names
    assert ("simulated", "failing_hosts") in names


@pytest.mark.parametrize(
    ("page", "group", "name"),
    DOCUMENTED,
    ids=[f"{page.name}-{group}-{name}" for page, group, name in DOCUMENTED],
)
def test_a_documented_option_is_registered(
    page: Path, group: str, name: str, conf: cfg.ConfigOpts
) -> None:
    """Under this name and in this group; Nova's options stand on their own page."""
    if page.name == "from-nova.md" and former_names.is_known((group, name)):
        return
    assert name in (conf if group == "DEFAULT" else conf[group])
