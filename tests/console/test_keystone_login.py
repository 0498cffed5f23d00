"""A login that Keystone decides on, in a browser."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests

from armillary.service import ServiceGroup
from programs import up
from tests.console.browser import Tab
from tests.console.deployment import add_flavor
from tests.fixtures.asking import Api
from tests.fixtures.embedded import embedded_conf
from tests.fixtures.services.keystone import PASSWORD, TOKEN_OF_USER, StandInKeystone

SERVERS = {"member": "of-the-member", "stranger": "of-the-stranger"}


@pytest.fixture
def url(browser: Any, tmp_path: Path) -> Iterator[str]:
    """Run a deployment that asks a Keystone, with a server in each of two projects."""
    with StandInKeystone().running() as keystone:
        conf = embedded_conf(tmp_path, {("api", "auth_strategy"): "keystone"})
        options = "".join(f"{name} = {value}\n" for name, value in keystone.client_options.items())
        path = tmp_path / "keystone.conf"
        path.write_text(f"[keystone_authtoken]\n{options}")
        conf([f"--config-file={path}"], default_config_files=[], default_config_dirs=[])
        up.make_tables(conf)
        bound: list[tuple[str, int]] = []
        top_url = f"kombu+memory:////{uuid.uuid4()}"
        services = up.embedded_services(conf, top_url=top_url, on_bound=bound.append)
        group = ServiceGroup(conf, services)
        group.start()
        try:
            address = "http://{}:{}".format(*bound[0])
            admin = _api(address, "admin")
            flavor = add_flavor(admin, "small", 1)
            image = admin.post("/images", {"image": {"name": "sleeper"}})["image"]["id"]
            for user, name in SERVERS.items():
                asked = {"name": name, "flavorRef": flavor, "imageRef": image, "networks": "none"}
                _api(address, user).post("/servers", {"server": asked})
            yield address
        finally:
            group.stop(5)


def _api(address: str, user: str) -> Api:
    session = requests.Session()
    session.headers["X-Auth-Token"] = TOKEN_OF_USER[user]
    return Api(address, session)


@pytest.mark.long
def test_a_user_of_keystone_sees_his_own_servers_until_he_logs_out(browser: Any, url: str) -> None:
    """A wrong password is refused, with what was typed left as it is."""
    tab = Tab(browser, url)
    page = tab.page
    page.goto(f"{url}/ui/servers")
    page.get_by_label("User", exact=True).fill("member")
    page.get_by_label("Password", exact=True).fill("wrong")
    page.get_by_role("button", name="Log in").click()
    assert "password or the project is wrong" in page.get_by_role("alert").inner_text()
    assert page.get_by_label("User", exact=True).input_value() == "member"
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name=SERVERS["member"]).wait_for()
    assert SERVERS["stranger"] not in page.inner_text("main")
    assert page.get_by_role("link", name="Fleet").count() == 0
    (cookie,) = tab.context.cookies()
    page.get_by_role("button", name="Log out").click()
    page.get_by_role("heading", name="Log in").wait_for()
    tab.context.add_cookies([cookie])  # one that was copied is worth nothing any more
    page.goto(f"{url}/ui/servers")
    page.get_by_role("heading", name="Log in").wait_for()
    tab.close()
    assert tab.faults == []
